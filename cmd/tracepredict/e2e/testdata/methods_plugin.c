// A library that methods_dlopen.c loads.
int plug_step(int n)
{
	return n * 2;
}
