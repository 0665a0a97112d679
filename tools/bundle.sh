#!/bin/sh
# Makes BUILD/kernwright-bundle/ and BUILD/kernwright-bundle.tar.gz: tools/bundle.sh BUILD VERSION.
# Left to the machine that runs it: the C library, which must be as new as the one here, and the OpenCL loader, which
# belongs to its drivers.
set -eu
build=$1
version=$2
bundle=$build/kernwright-bundle
program=$build/bundle-program

[ -x "$program" ] || { echo "bundle: there is no program to bundle" >&2; exit 1; }
rm -rf "$bundle" "$bundle.tar.gz"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/share/kernwright"
cp "$program" "$bundle/bin/kernwright"

# "NAME => PATH (ADDRESS)"; what has no path is the kernel's or the loader itself
ldd "$program" | awk '$2 == "=>" { print $1, $3 }' | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux* | libOpenCL.so.*) continue ;;
    esac
    [ -f "$path" ] || { echo "bundle: $name is missing here: $path" >&2; exit 3; }
    cp -L "$path" "$bundle/lib/$name"
done

chmod 644 "$bundle"/lib/*
strip --strip-unneeded "$bundle"/bin/kernwright "$bundle"/lib/*
tools/install-data.sh "$bundle/share/kernwright"
cat > "$bundle/README" <<END
Kernwright $version. Run bin/kernwright where it lies; the folder can be moved as a whole.
Needed on this machine: a C library of version $(ldd --version | sed -n '1s/.* //p') or later, and an OpenCL loader
(libOpenCL.so.1) with the driver of the device.
END
tar -C "$build" --sort=name --owner=0 --group=0 --numeric-owner -czf "$bundle.tar.gz" kernwright-bundle
echo "$bundle.tar.gz: $(du -k "$bundle.tar.gz" | cut -f1) KiB"
