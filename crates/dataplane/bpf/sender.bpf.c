/* The sender of live frames: writes each frame afresh and redirects it out of an interface, as fast as
 * it goes or when it is due.
 *
 * Owns the frame's contents, its number and its time of departure. `send` is run by the kernel's test
 * loop, so many times a batch; a frame that isn't due yet is dropped, which only recycles its page: so
 * waiting is spinning inside the kernel. `taken` hears from the same processor, before the next batch,
 * how many frames of the batch the driver took. A number is used only once the driver took its frame.
 * Never allocates, never waits, never keeps what a page held before: whoever had it may have changed it. */
#include "program.h"

/* What the loader knows for good: the verifier removes what a shape doesn't need. */
struct shape {
	u32 version;
	u32 tagged;
	u32 paced;
	/* Of the page's frame, without FCS. */
	u32 octets;
	/* Sizes of the pattern; frame i has the size of image i % sizes. */
	u32 sizes;
	/* Runs of one batch, a power of two, at most what a driver is handed at once (16). */
	u32 batch;
	u32 source_port, source_ports;
	u32 destination_port, destination_ports;
	/* The low 32 bits of each address; the others are in the image. */
	u32 source, sources;
	u32 destination, destinations;
};

/* One size of the pattern: everything but ports, low address bits, checksums, number and time, and the
 * sums of that under the two checksums. */
struct __attribute__((aligned(8))) image {
	u8 head[88];
	u32 sum;
	u32 header_sum;
	u32 octets;
	u32 unused;
};

/* One load: what is asked, where it is, and what came of it. Times in ns of the monotonic clock. */
struct load {
	/* Greedy: not before, not from. Paced: `end` bounds catching up. */
	u64 start, end;
	/* The most frames. */
	u64 limit;
	/* Paced: turns of the whole load and of its first part; gaps in ns and 2^-32 ns. */
	u64 total, first_turns;
	u64 gap, gap_fraction;
	u64 second_at, second_gap, second_gap_fraction;
	u64 burst_limit, late_after;
	/* Greedy: the pause after the driver refused a frame. */
	u64 pause;

	u64 runs, number, pending, batch_at, skip, hold_until;
	u64 size_at, source_port_at, destination_port_at, source_at, destination_at;
	u64 due, due_fraction, turns, go_left, rest_until;
	u64 longest_burst, late;

	/* Written by `taken`. */
	u64 processor, device, task;
	u64 sent, refused, first, last;
	u32 departures[BUCKETS];
};

const volatile struct shape shape;
const volatile struct image images[64];
struct load load;

/* Where frames leave; the map finds it whatever namespace the calling thread is in. */
struct map exits SECTION("maps") = {
	.type = MAP_INTERFACES,
	.key_octets = 4,
	.value_octets = 4,
	.entries = 1,
};

/* Goes back to the number whose frame was not taken. */
INLINE void turn_back(struct load *l, u64 frames)
{
	l->number -= frames;
	l->refused += frames;
	u32 number = (u32)l->number;
	if (shape.sizes > 1)
		l->size_at = number % shape.sizes;
	if (shape.source_ports > 1)
		l->source_port_at = number % shape.source_ports;
	if (shape.destination_ports > 1)
		l->destination_port_at = number % shape.destination_ports;
	if (shape.sources > 1)
		l->source_at = number % shape.sources;
	if (shape.destinations > 1)
		l->destination_at = number % shape.destinations;
}

INLINE void step(u64 *at, u32 count)
{
	if (count > 1 && ++*at >= count)
		*at = 0;
}

/* The one's complement sum as it goes into a header. */
INLINE u16 folded(u64 sum)
{
	sum = (sum >> 32) + (u32)sum;
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return (u16)~sum;
}

INLINE u64 words(u64 number)
{
	return (number >> 48) + (number >> 32 & 0xffff) + (number >> 16 & 0xffff) + (number & 0xffff);
}

/* Writes the whole frame: `headers` octets before the probe, then the probe. */
INLINE int write(struct frame_context *context, const volatile struct image *image, u32 headers, u64 now)
{
	struct load *l = &load;
	void *frame = START(context);
	u32 length = headers + PROBE_OCTETS;
	if (frame + length > END(context))
		return 0;
#pragma unroll
	for (u32 at = 0; at + 8 <= length; at += 8)
		AT64(frame + at) = *(const volatile u64 *)(image->head + at);
	if (length % 8)
		AT32(frame + length - 4) = *(const volatile u32 *)(image->head + length - 4);

	void *udp = frame + headers - UDP_OCTETS;
	u32 source = shape.source + (u32)l->source_at;
	u32 destination = shape.destination + (u32)l->destination_at;
	u64 addresses = (source >> 16) + (source & 0xffff) + (destination >> 16) + (destination & 0xffff);
	if (shape.version == 4) {
		void *ip = udp - IPV4_OCTETS;
		AT32(ip + 12) = be32(source);
		AT32(ip + 16) = be32(destination);
		AT16(ip + 10) = be16(folded(image->header_sum + addresses));
	} else {
		void *ip = udp - IPV6_OCTETS;
		AT32(ip + 20) = be32(source);
		AT32(ip + 36) = be32(destination);
	}
	u16 source_port = shape.source_port + (u32)l->source_port_at;
	u16 destination_port = shape.destination_port + (u32)l->destination_port_at;
	u32 number = (u32)l->number;
	AT16(udp) = be16(source_port);
	AT16(udp + 2) = be16(destination_port);
	AT32(udp + UDP_OCTETS + PROBE_SEQUENCE) = be32(number);
	AT64(udp + UDP_OCTETS + PROBE_TIME) = be64(now);
	u64 sum = image->sum + addresses + source_port + destination_port + words(number) + words(now);
	u16 checksum = folded(sum);
	/* RFC 768: a sum of zero is sent as all ones, for zero means none. */
	AT16(udp + 6) = checksum ? be16(checksum) : 0xffff;
	return 1;
}

INLINE int emit(struct frame_context *context, u64 now)
{
	struct load *l = &load;
	const volatile struct image *image = &images[shape.sizes > 1 ? l->size_at & 63 : 0];
	if (shape.sizes > 1) {
		int by = (int)image->octets - (int)((long)END(context) - (long)START(context));
		if (by && adjust_tail(context, by))
			return XDP_DROP;
	}
	u32 headers = ETHERNET_OCTETS + UDP_OCTETS + (shape.tagged ? TAG_OCTETS : 0);
	int written;
	/* The length of what is copied must be a constant of its branch. */
	if (shape.version == 4)
		written = shape.tagged ? write(context, image, 46, now) : write(context, image, 42, now);
	else
		written = shape.tagged ? write(context, image, 66, now) : write(context, image, 62, now);
	if (!written)
		return XDP_DROP;
	l->number++;
	step(&l->size_at, shape.sizes);
	step(&l->source_port_at, shape.source_ports);
	step(&l->destination_port_at, shape.destination_ports);
	step(&l->source_at, shape.sources);
	step(&l->destination_at, shape.destinations);
	l->pending++;
	return (int)redirect(&exits, 0, XDP_ABORTED);
}

/* Paced: takes the turns that are due; 0 when none is. A go takes what has come by its beginning, at
 * most the burst limit, and what the limit cut off waits for the next frame's own time. */
INLINE int take_turn(struct load *l, u64 now)
{
	if (!l->go_left) {
		if (now < l->due || now < l->rest_until || l->turns >= l->total || now >= l->end)
			return 0;
		u64 behind = now - l->due;
		u64 come = 1;
		if (behind >= l->gap) {
			come += behind / l->gap;
			if (come > l->burst_limit) {
				l->rest_until = l->due + come * l->gap;
				come = l->burst_limit;
			}
			if (come > l->total - l->turns)
				come = l->total - l->turns;
		}
		if (come > l->longest_burst)
			l->longest_burst = come;
		if (behind > l->late_after)
			l->late += come;
		l->go_left = come;
	}
	l->go_left--;
	l->turns++;
	u64 fraction = l->due_fraction + l->gap_fraction;
	l->due += l->gap + (fraction >> 32);
	l->due_fraction = (u32)fraction;
	if (unlikely(l->turns == l->first_turns)) {
		l->gap = l->second_gap;
		l->gap_fraction = l->second_gap_fraction;
		l->due = l->second_at;
		l->due_fraction = 0;
	}
	return 1;
}

SECTION("xdp")
int send(struct frame_context *context)
{
	struct load *l = &load;
	u64 now = 0;
	if (shape.paced)
		now = clock_monotonic();
	if ((l->runs++ & (shape.batch - 1)) == 0) {
		/* What nobody reported was refused before it reached the driver. */
		if (unlikely(l->pending)) {
			u64 lost = l->pending;
			l->pending = 0;
			turn_back(l, lost);
			l->hold_until = l->batch_at + l->pause;
		}
		l->processor = processor();
		if (!shape.paced) {
			now = clock_monotonic();
			l->batch_at = now;
			l->skip = now < l->start || now >= l->end || now < l->hold_until;
		}
	}
	if (shape.paced) {
		if (l->number >= l->limit || !take_turn(l, now))
			return XDP_DROP;
		return emit(context, now);
	}
	if (l->skip || l->number >= l->limit)
		return XDP_DROP;
	return emit(context, l->batch_at);
}

/* xdp:xdp_devmap_xmit (from, to, sent, drops, error): the driver was handed a batch and took `sent` of
 * it, the first ones. */
SECTION("raw_tracepoint")
int taken(u64 *arguments)
{
	struct load *l = &load;
	if (!l->pending || l->processor != processor())
		return 0;
	/* The first report on our processor while frames of ours are pending is ours, because a batch is
	 * not interrupted. Later ones may be others' that follow a batch of which nothing was reported. */
	u64 task = current_task();
	if (!l->device) {
		l->device = arguments[0];
		l->task = task;
	} else if (l->device != arguments[0] || l->task != task) {
		return 0;
	}
	u64 sent = (u32)arguments[2], drops = (u32)arguments[3];
	if (sent + drops > l->pending)
		return 0;
	u64 now = clock_monotonic();
	l->pending -= sent + drops;
	if (unlikely(drops)) {
		turn_back(l, drops);
		l->hold_until = now + l->pause;
	}
	if (!sent)
		return 0;
	if (l->sent) {
		enter(l->departures, now - l->last, 1);
		l->departures[0] += sent - 1;
	} else {
		l->first = shape.paced ? now : l->batch_at;
		l->departures[0] = sent - 1;
	}
	if (shape.paced && sent > l->longest_burst)
		l->longest_burst = sent;
	l->sent += sent;
	l->last = now;
	return 0;
}
