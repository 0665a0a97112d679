#!/bin/sh
# Prints kernwright.pc: tools/pkgconfig.sh PREFIX VERSION "PACKAGES". The prefix is where the files will lie in the
# end; a staging folder (DESTDIR) must not show in it.
set -eu
cat <<END
prefix=$1
exec_prefix=\${prefix}
libdir=\${exec_prefix}/lib
includedir=\${prefix}/include/kernwright

Name: kernwright
Description: GPU kernel autotuning and code generation
Version: $2
Requires.private: $3
Libs: -L\${libdir} -lkernwright
Libs.private: -lm -ldl -pthread
Cflags: -I\${includedir}
END
