#!/bin/sh
# Builds the programs that fuzzing starts from, with gcc 12 and clang 19. They
# are committed, so that the same ones are patched wherever the tests run.
set -eu
cd "$(dirname "$0")"
flags="-O2 -nostdlib -Wl,-z,noseparate-code -fdebug-prefix-map=$PWD=/src"
gcc $flags -gdwarf-5 -fPIC -shared -Wl,--hash-style=gnu -Wl,--build-id -o shared.elf seed.c
gcc $flags -gdwarf-4 -fno-pie -no-pie -static -Wl,-e,start -Wl,--unresolved-symbols=ignore-all -o fixed.elf seed.c
gcc $flags -gdwarf-5 -gz=zlib -fPIC -fcf-protection=full -shared -s -o stripped.elf seed.c
g++ $flags -Os -gdwarf-5 -fPIC -shared -Wl,-z,pack-relative-relocs -Wl,--hash-style=sysv -o throws.elf seed.cc
clang-19 -O2 -gdwarf-5 -fPIC -ffile-prefix-map="$PWD=/src" -c -o seed.o seed.c
gcc -nostdlib -shared -Wl,-z,noseparate-code -o clang.elf seed.o
rm seed.o
