/* The limit of B1: an event kernel with a binary heap, first fit by server number and a strict first-in-first-out queue. */
#include <stdlib.h>

typedef struct { double time; long id; } event;

static event *heap;
static long size;

static int before(event a, event b) { return a.time < b.time || (a.time == b.time && a.id < b.id); }

static void push(double time, long id) {
    event e = {time, id};
    long at = size++;
    while (at > 0 && before(e, heap[(at - 1) / 2])) { heap[at] = heap[(at - 1) / 2]; at = (at - 1) / 2; }
    heap[at] = e;
}

static event pop(void) {
    event first = heap[0], last = heap[--size];
    long at = 0, below = 1;
    while (below < size) {
        if (below + 1 < size && before(heap[below + 1], heap[below])) below++;
        if (!before(heap[below], last)) break;
        heap[at] = heap[below]; at = below; below = 2 * below + 1;
    }
    heap[at] = last;
    return first;
}

/* Mean seconds that jobs wait; jobs come in order of submit. */
double mean_wait(long jobs, const double *submit, const double *duration, const long *cores, const long *memory,
                 long servers, long capacity, long gib) {
    long *free_cores = malloc(servers * sizeof(long)), *free_memory = malloc(servers * sizeof(long));
    long *place = malloc(jobs * sizeof(long)), next = 0, head = 0;
    double waited = 0;
    heap = malloc((jobs + 1) * sizeof(event));
    size = 0;
    for (long s = 0; s < servers; s++) { free_cores[s] = capacity; free_memory[s] = gib; }
    while (head < jobs) {
        double now;
        if (next < jobs && (size == 0 || submit[next] < heap[0].time)) {
            now = submit[next++];
        } else {
            event e = pop();
            now = e.time;
            free_cores[place[e.id]] += cores[e.id];
            free_memory[place[e.id]] += memory[e.id];
        }
        while (head < next) {
            long s = 0;
            while (s < servers && (free_cores[s] < cores[head] || free_memory[s] < memory[head])) s++;
            if (s == servers) break;
            free_cores[s] -= cores[head];
            free_memory[s] -= memory[head];
            place[head] = s;
            waited += now - submit[head];
            push(now + duration[head], head);
            head++;
        }
    }
    free(free_cores); free(free_memory); free(place); free(heap);
    return waited / jobs;
}
