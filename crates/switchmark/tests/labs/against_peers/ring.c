/* Ring all-reduce without the addition: the schedule of `trial::collective`, by MPI.
 *
 * Each rank sends 2 (n-1) blocks to the next one and waits for as many of the one before, with a
 * barrier before each repetition; the first is not counted. Prints the slowest rank's mean time in
 * nanoseconds. Usage: ring OCTETS SECONDS
 */

#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Takes the place of the C library's, so that Open MPI's connections have CONTROL as congestion
 * control: a network namespace may not make a restricted one its default. */
int socket(int domain, int type, int protocol) {
    int made = (int)syscall(SYS_socket, domain, type, protocol);
    if (made >= 0 && (domain == AF_INET || domain == AF_INET6) && (type & SOCK_STREAM) &&
        setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, CONTROL, sizeof CONTROL - 1) != 0)
        perror("set the congestion control");
    return made;
}

static long block(long octets, int ranks, int number) {
    return octets * number / ranks;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int own, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    long octets = atol(argv[1]);
    double seconds = atof(argv[2]), began = MPI_Wtime(), sum = 0;
    char *out = calloc(octets, 1), *in = calloc(octets, 1);
    int next = (own + 1) % ranks, previous = (own + ranks - 1) % ranks;
    long counted = -1;
    for (int go = 1; go;) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int step = 0; step < 2 * (ranks - 1); step++) {
            /* Block -1 - step of the first half, and of the second the one that has arrived. */
            int back = step < ranks - 1 ? step + 1 : step - (ranks - 1);
            int sent = ((own - back) % ranks + ranks) % ranks;
            int received = (sent + ranks - 1) % ranks;
            long from = block(octets, ranks, sent), to = block(octets, ranks, sent + 1);
            long first = block(octets, ranks, received), end = block(octets, ranks, received + 1);
            MPI_Sendrecv(out + from, (int)(to - from), MPI_BYTE, next, 0,
                         in + first, (int)(end - first), MPI_BYTE, previous, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (counted++ >= 0)
            sum += MPI_Wtime() - begin;
        go = MPI_Wtime() - began < seconds || counted < 1;
        /* Rank 0 decides for all: their clocks differ. */
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    double mean = sum / counted, slowest;
    MPI_Reduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (own == 0)
        printf("%ld repetitions, mean %.0f ns\n", counted, 1e9 * slowest);
    MPI_Finalize();
    return 0;
}
