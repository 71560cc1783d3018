/* The counter: tells by sequence number which frames of our flows came to an interface, and drops them;
 * everything else goes on to the stack.
 *
 * Owns the flows' places, of which each interface has 64, found by token and flow. Counts are kept per
 * processor, sequence numbers in one bit each and the order of each conversation in three words, all set
 * atomically, so that several queues count exactly.
 * Learning frames and frames that match no flow go on to the stack, where the flow's own socket has them.
 * Never changes a frame. */
#include "program.h"

enum {
	PLACES = 64,
	/* How far from its hash a flow may be. */
	PROBES = 8,
	SIZES = 64,
	/* Numbers from here up are learning frames': crates/dataplane/src/datagram/learning.rs. */
	LEARNING = 0xffffffff - 16,
};

/* In which order a conversation's frames came. */
struct order {
	u64 next_expected, reordered, duplicated;
};

/* A flow: what is expected, then what its queues share. */
struct flow {
	u64 active;
	u32 token, flow;
	/* 4 or 6. */
	u32 version;
	/* 0…4094, or NO_VLAN. */
	u32 vlan;
	/* The peer's first address: high and low half, and how many there are. IPv4 is in `low`. */
	u64 peer_high, peer_low, peers;
	/* Frame i is of conversation i % conversations. */
	u64 limit, conversations;
	u32 sizes, delays;
	/* Octets without FCS of frame i % sizes. */
	u32 octets[SIZES];

	/* Of the only conversation, where there is one: looking it up costs each frame a twentieth. */
	struct order order;
	u64 first, last;
};

enum { NO_VLAN = 0xffff };

/* What one processor counted of a flow. */
struct tally {
	u64 unique, beyond_limit;
	u64 malformed, foreign;
	u32 arrivals[BUCKETS];
	u32 delays[BUCKETS];
};

struct flow flows[PLACES];

/* Of each flow, its numbers: 64 a word. */
struct map numbers SECTION("maps") = {
	.type = MAP_ARRAY_OF_MAPS,
	.key_octets = 4,
	.value_octets = 4,
	.entries = PLACES,
};

/* Of each flow of several conversations, their orders. */
struct map orders SECTION("maps") = {
	.type = MAP_ARRAY_OF_MAPS,
	.key_octets = 4,
	.value_octets = 4,
	.entries = PLACES,
};

/* Of each flow, one tally a processor. */
struct map tallies SECTION("maps") = {
	.type = MAP_ARRAY_OF_MAPS,
	.key_octets = 4,
	.value_octets = 4,
	.entries = PLACES,
};

INLINE int find(u32 token, u32 flow)
{
	u32 place = (token ^ flow * 0x9e3779b1u) % PLACES;
#pragma unroll
	for (u32 probe = 0; probe < PROBES; probe++) {
		u32 at = (place + probe) % PLACES;
		if (flows[at].active && flows[at].token == token && flows[at].flow == flow)
			return at;
	}
	return -1;
}

/* Whether the source address is one of the flow's. */
INLINE int is_peer(const struct flow *flow, u64 high, u64 low)
{
	return high == flow->peer_high && low - flow->peer_low < flow->peers;
}

INLINE void stamp(struct flow *flow, struct tally *tally, u64 now, u64 sent)
{
	u64 before = __sync_lock_test_and_set(&flow->last, now);
	if (before)
		enter(tally->arrivals, now > before ? now - before : 0, 1);
	else
		flow->first = now;
	if (flow->delays)
		enter(tally->delays, now > sent ? now - sent : 0, 1);
}

/* RFC 4737: below the conversation's next expected number is reordered; true then. */
INLINE int is_reordered(struct order *order, u64 number)
{
#pragma unroll
	for (int attempt = 0; attempt < 4; attempt++) {
		u64 expected = *(volatile u64 *)&order->next_expected;
		if (number < expected)
			return 1;
		if (__sync_val_compare_and_swap(&order->next_expected, expected, number + 1) == expected)
			return 0;
	}
	return 0;
}

/* The conversation's that a number is of. */
INLINE struct order *order_of(struct flow *flow, u32 place, u64 number)
{
	if (flow->conversations <= 1)
		return &flow->order;
	void *orders_of = map_lookup(&orders, &place);
	u32 own = (u32)number % (u32)flow->conversations;
	return orders_of ? map_lookup(orders_of, &own) : 0;
}

INLINE void count(struct order *order, struct tally *tally, void *numbers_of, u64 number)
{
	u32 word = (u32)(number / 64);
	u64 bit = 1ull << (number % 64);
	u64 *numbers = map_lookup(numbers_of, &word);
	if (!numbers || !order)
		return;
	if (__sync_fetch_and_or(numbers, bit) & bit) {
		__sync_fetch_and_add(&order->duplicated, 1);
		return;
	}
	tally->unique++;
	if (is_reordered(order, number))
		__sync_fetch_and_add(&order->reordered, 1);
}

/* The frame's probe, and what its headers say. */
struct arrival {
	u32 version, vlan;
	u64 source_high, source_low;
	void *probe;
};

INLINE int parse(struct frame_context *context, struct arrival *arrival)
{
	void *at = START(context), *end = END(context);
	if (at + ETHERNET_OCTETS + IPV4_OCTETS + UDP_OCTETS + PROBE_OCTETS > end)
		return 0;
	u16 type = AT16(at + 12);
	at += ETHERNET_OCTETS;
	arrival->vlan = NO_VLAN;
	if (type == be16(ETHER_VLAN)) {
		arrival->vlan = be16(AT16(at)) & 0xfff;
		type = AT16(at + 2);
		at += TAG_OCTETS;
	}
	if (type == be16(ETHER_IPV4)) {
		if (at + IPV4_OCTETS + UDP_OCTETS + PROBE_OCTETS > end)
			return 0;
		/* Ours have no options and are never cut up. */
		if (*(volatile u8 *)at != 0x45 || *(volatile u8 *)(at + 9) != PROTOCOL_UDP)
			return 0;
		if (AT16(at + 6) & be16(0x3fff))
			return 0;
		arrival->version = 4;
		arrival->source_high = 0;
		arrival->source_low = be32(AT32(at + 12));
		at += IPV4_OCTETS;
	} else if (type == be16(ETHER_IPV6)) {
		if (at + IPV6_OCTETS + UDP_OCTETS + PROBE_OCTETS > end)
			return 0;
		if (*(volatile u8 *)(at + 6) != PROTOCOL_UDP)
			return 0;
		arrival->version = 6;
		arrival->source_high = be64(AT64(at + 8));
		arrival->source_low = be64(AT64(at + 16));
		at += IPV6_OCTETS;
	} else {
		return 0;
	}
	arrival->probe = at + UDP_OCTETS;
	return 1;
}

/* A tag that the kernel or the NIC keeps beside the frame can't be seen: then none is there, and the
 * frame is shorter by it. */
INLINE int has_length(const struct flow *flow, u32 vlan, u64 number, u64 octets)
{
	u32 size = flow->sizes > 1 ? (u32)number % flow->sizes : 0;
	u64 expected = flow->octets[size % SIZES];
	if (vlan == flow->vlan)
		return octets == expected;
	return vlan == NO_VLAN && octets + TAG_OCTETS == expected;
}

SECTION("xdp")
int counter(struct frame_context *context)
{
	struct arrival arrival;
	if (!parse(context, &arrival))
		return XDP_PASS;
	u32 place = find(be32(AT32(arrival.probe)), be16(AT16(arrival.probe + 4)));
	if (place >= PLACES)
		return XDP_PASS;
	struct flow *flow = &flows[place];
	/* Here, where the verifier still knows that the place is one of them. */
	asm volatile("" : "+r"(flow));
	void *numbers_of = map_lookup(&numbers, &place);
	void *tallies_of = map_lookup(&tallies, &place);
	u32 zero = 0;
	struct tally *tally = tallies_of ? map_lookup(tallies_of, &zero) : 0;
	if (!numbers_of || !tally)
		return XDP_PASS;
	if (arrival.version != flow->version || !is_peer(flow, arrival.source_high, arrival.source_low)) {
		tally->foreign++;
		return XDP_DROP;
	}
	u64 number = be32(AT32(arrival.probe + PROBE_SEQUENCE));
	if (number >= LEARNING)
		return XDP_PASS;
	u64 octets = frame_octets(context);
	if (!has_length(flow, arrival.vlan, number, octets)) {
		tally->malformed++;
		return XDP_DROP;
	}
	if (number >= flow->limit) {
		tally->beyond_limit++;
		return XDP_DROP;
	}
	count(order_of(flow, place, number), tally, numbers_of, number);
	stamp(flow, tally, clock_monotonic(), be64(AT64(arrival.probe + PROBE_TIME)));
	return XDP_DROP;
}
