#!/bin/sh
# Prints kernwright.pc: tools/pkgconfig.sh PREFIX VERSION "LIBRARIES". The prefix is where the files will lie in the
# end; a staging folder (DESTDIR) must not show in it. The libraries stand in Libs.private and not, as packages, in
# Requires.private: who links the shared library needs none of their development packages, and who links
# libkernwright.a needs them as shared libraries, not what each of them would need to be linked statically. `program` is
# for builds that emit headers (docs/build.md); in a cross build it is the pkg-config of the building machine that has it.
set -eu
cat <<END
prefix=$1
exec_prefix=\${prefix}
libdir=\${exec_prefix}/lib
includedir=\${prefix}/include/kernwright
program=\${exec_prefix}/bin/kernwright
templates=\${prefix}/share/kernwright/templates
tasks=\${prefix}/share/kernwright/tasks

Name: kernwright
Description: GPU kernel autotuning and code generation
Version: $2
Libs: -L\${libdir} -lkernwright
Libs.private: $3
Cflags: -I\${includedir}
END
