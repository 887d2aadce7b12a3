/* The BPF target has no folder of its own under /usr/include. */
#include <asm-generic/types.h>
