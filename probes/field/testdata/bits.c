// Bit fields, in storage that they share, and behind members without a name.
struct flags {
	struct flags *next;
	unsigned kind : 3;
	unsigned open : 1;
	int level : 9;
	unsigned long wide : 40;
	unsigned char after;
	unsigned : 0;
	unsigned late : 1;
	struct {
		unsigned : 5;
		unsigned deep : 2;
	};
};

int main(int argc, char **argv) {
	static struct flags f;
	f.deep = argc;
	return f.kind;
}
