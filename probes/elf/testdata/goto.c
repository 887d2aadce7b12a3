/* Code whose addresses are data: labels in a table, a label and a function as
   constants, a function pointer in a variable. */
int n;
static void twice(void) { n *= 2; }
static void (*hook)(void) = twice;
void *resume;

__attribute__((noinline)) int run(const unsigned char *code)
{
	static const void *const table[] = {&&add, &&sub, &&mul, &&stop};
	resume = &&sub;
	goto *table[*code++ & 3];
add:
	n += 3;
	goto *table[*code++ & 3];
sub:
	n -= code[0];
	goto *table[*code++ & 3];
mul:
	n *= 5;
	hook();
	goto *table[*code++ & 3];
stop:
	return n;
}

int main(int argc, char **argv)
{
	if (argc > 1) hook = 0;
	return run((const unsigned char *)argv[0]);
}
