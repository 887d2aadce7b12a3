// A server's two threads change a total without a lock, each for the request of a client. The client, another
// process of this machine, waits for the first answer before it makes the second request; others need not.
//
// expect: race total
// watch: total
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fortune.h"

static struct sockaddr_in address;
static int listener, total;

static void *serve(void *unused) {
	char amount;
	int client = accept(listener, 0, 0);
	if (client >= 0 && read(client, &amount, 1) == 1) {
		total += amount;
		if (write(client, &amount, 1) == 1)
			close(client);
	}
	return unused;
}

static int request(char amount) {
	int s = socket(AF_INET, SOCK_STREAM, 0);
	int ok = !connect(s, (struct sockaddr *)&address, sizeof address) && write(s, &amount, 1) == 1 && read(s, &amount, 1) == 1;
	close(s);
	return ok;
}

int main(void) {
	socklen_t length = sizeof address;
	pthread_t t[2];
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 2) || getsockname(listener, (struct sockaddr *)&address, &length))
		return 1;
	pid_t client = fork();
	if (!client) {
		later(1);
		_exit(!request(1) || !request(2));
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, serve, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	return waitpid(client, 0, 0) != client;
}
