// SPDX-License-Identifier: MIT
// Calls that a cudart inside has and our libcudart has not, as a later runtime will: each answers NOT_SUPPORTED, and is named once.
// The runtime is lacks.s, which run.sh writes: the names of 13 and these two, each a function that traps.
#include <stdio.h>

int cudaStreamCreate(void **stream);
int cudaCallOfTomorrow(void *), cudaAnotherOne(int, void *);

int main(void)
{
	void *s;

	if (cudaStreamCreate(&s))
		return 1;
	for (int i = 0; i < 2; i++)
		printf("%d %d\n", cudaCallOfTomorrow(&s), cudaAnotherOne(0, &s));
	return 0;
}
