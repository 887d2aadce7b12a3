// A thread compresses, and the first thread ends the stream. The functions are not zlib's, but have their names.
#include "twice.h"

typedef struct {
	long bytes;
} z_stream;

KEEP int deflateInit_(z_stream *z, int level)
{
	z->bytes = level < 0;
	return 0;
}

KEEP int deflate(z_stream *z, int flush)
{
	z->bytes += flush;
	return 0;
}

KEEP int deflateEnd(z_stream *z)
{
	z->bytes = 0;
	return 0;
}

static void *compresses(void *z)
{
	deflate(z, 1);
	return NULL;
}

static void ends(void *z) { deflateEnd(z); }

int main(int argc, char **argv)
{
	z_stream z;

	for (int i = 0; i < 2; i++) { // two streams in the same memory
		deflateInit_(&z, i);
		deflate(&z, i);
		if (!i)
			deflateEnd(&z);
	}
	use_and_dispose(argc, argv, compresses, ends, &z);
	deflateEnd(&z); // does nothing
	return 0;
}
