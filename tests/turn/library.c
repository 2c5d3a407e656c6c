/* SPDX-License-Identifier: MIT */
/* Opens each library that is named, at once or from a second thread, and runs its work(); twice, with a dlclose between. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *one(void *path)
{
	for (int i = 0; i < 2; i++) {
		void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		int (*work)(void);

		if (!h) {
			printf("%s\n", dlerror());
			return path;
		}
		*(void **)&work = dlsym(h, "work");
		if (!work || work())
			return path;
		dlclose(h);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	void *bad;
	int wrong = 0;

	for (int i = 1; i < argc; i++) {
		if (pthread_create(&t, NULL, one, argv[i]) || pthread_join(t, &bad))
			return 1;
		wrong |= bad != NULL;
	}
	/* the loader has shown no library of CUDA's that nobody asked for */
	printf("%s\n", wrong ? "wrong" : "all right");
	return wrong;
}
