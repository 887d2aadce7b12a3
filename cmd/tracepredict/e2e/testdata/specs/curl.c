// A thread wakes a multi handle up, and the first thread cleans it up. The functions are not libcurl's, but have their names.
#include "twice.h"

typedef struct {
	int n;
} CURLM;

KEEP CURLM *curl_multi_init(void)
{
	CURLM *m = malloc(sizeof(*m));

	if (m)
		m->n = 0;
	return m;
}

KEEP int curl_multi_wakeup(CURLM *m) { return m->n++; }

KEEP int curl_multi_poll(CURLM *m) { return m->n; }

KEEP int curl_multi_cleanup(CURLM *m)
{
	free(m);
	return 0;
}

static void *wakes(void *m)
{
	curl_multi_wakeup(m);
	return NULL;
}

static void cleans(void *m) { curl_multi_cleanup(m); }

int main(int argc, char **argv)
{
	CURLM *m = curl_multi_init();

	if (!m)
		return 1;
	curl_multi_poll(m);
	use_and_dispose(argc, argv, wakes, cleans, m);
	m = curl_multi_init(); // another handle, at the same address or not
	if (!m)
		return 1;
	curl_multi_poll(m);
	curl_multi_cleanup(m);
	return 0;
}
