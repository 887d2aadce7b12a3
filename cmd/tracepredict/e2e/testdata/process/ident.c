// Says who it runs as.
#include <grp.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
	gid_t groups[64];
	int n = getgroups(64, groups);
	printf("uid %d %d gid %d %d groups", getuid(), geteuid(), getgid(), getegid());
	for (int i = 0; i < n; i++)
		printf(" %d", groups[i]);
	printf("\n");
	return 0;
}
