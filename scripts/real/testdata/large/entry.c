/* What a large library exports; -DID=N tells the libraries apart. */
#define NAME_(a, b) a##b
#define NAME(a, b) NAME_(a, b)

int NAME(lib_id_, ID) = ID;

int NAME(lib_entry_, ID)(int x)
{
	return x * ID + 1;
}
