/* What our BPF programs need of the kernel's interface: types, helpers, sections, maps.
 *
 * Owns nothing that runs. Written by hand so that no header of libbpf or of the kernel is needed to
 * build them; numbers and shapes are those of linux/bpf.h, which never change. */
#ifndef PROGRAM_H
#define PROGRAM_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)
#define be16(number) __builtin_bswap16(number)
#define be32(number) __builtin_bswap32(number)
#define be64(number) __builtin_bswap64(number)

/* A field of a frame or of shared memory: read or written once, where it stands. */
#define AT16(pointer) (*(volatile u16 *)(pointer))
#define AT32(pointer) (*(volatile u32 *)(pointer))
#define AT64(pointer) (*(volatile u64 *)(pointer))

/* A map as our loader reads it. */
struct map {
	u32 type;
	u32 key_octets;
	u32 value_octets;
	u32 entries;
	u32 flags;
};

enum map_type {
	MAP_ARRAY = 2,
	MAP_PER_CPU_ARRAY = 6,
	MAP_ARRAY_OF_MAPS = 12,
	MAP_INTERFACES = 14,
};

enum action {
	XDP_ABORTED = 0,
	XDP_DROP = 1,
	XDP_PASS = 2,
	XDP_TX = 3,
	XDP_REDIRECT = 4,
};

struct frame_context {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_interface;
	u32 receive_queue;
	u32 egress_interface;
};

static void *(*map_lookup)(const void *map, const void *key) = (void *)1;
static u64 (*clock_monotonic)(void) = (void *)5;
static u32 (*processor)(void) = (void *)8;
static u64 (*current_task)(void) = (void *)14;
static long (*redirect_to)(u32 interface, u64 flags) = (void *)23;
static long (*redirect)(const void *interfaces, u64 key, u64 otherwise) = (void *)51;
static long (*adjust_tail)(struct frame_context *context, int by) = (void *)65;
static long (*route_lookup)(void *context, void *parameters, int octets, u32 flags) = (void *)69;
static u64 (*frame_octets)(struct frame_context *context) = (void *)188;

#define START(context) ((void *)(long)(context)->data)
#define END(context) ((void *)(long)(context)->data_end)

/* Ethernet and IP, as numbers of the wire in the order of this machine. */
enum {
	ETHER_IPV4 = 0x0800,
	ETHER_IPV6 = 0x86dd,
	ETHER_VLAN = 0x8100,
	PROTOCOL_UDP = 17,
	ETHERNET_OCTETS = 14,
	TAG_OCTETS = 4,
	IPV4_OCTETS = 20,
	IPV6_OCTETS = 40,
	UDP_OCTETS = 8,
	/* Token, flow, sequence, time: crates/wire/src/probe.rs. */
	PROBE_OCTETS = 18,
	PROBE_SEQUENCE = 6,
	PROBE_TIME = 10,
};

/* A histogram of nanoseconds: 64 buckets an octave, each value below 64 its own. The bucket of a value
 * is the value's highest seven bits with the number of those below them; crates/dataplane/src/xdp/
 * buckets.rs turns it back. What exceeds 2^36 ns (69 s) counts in the last. */
enum {
	BUCKET_BITS = 6,
	LONGEST_BITS = 36,
	BUCKETS = (LONGEST_BITS - BUCKET_BITS + 1) << BUCKET_BITS,
};

INLINE u32 highest_bit(u64 value)
{
	u32 bit = 0;
	if (value >> 32) { value >>= 32; bit += 32; }
	if (value >> 16) { value >>= 16; bit += 16; }
	if (value >> 8) { value >>= 8; bit += 8; }
	if (value >> 4) { value >>= 4; bit += 4; }
	if (value >> 2) { value >>= 2; bit += 2; }
	return bit + (u32)(value >> 1);
}

INLINE u32 bucket_of(u64 value)
{
	if (value < (1 << BUCKET_BITS))
		return (u32)value;
	if (unlikely(value >> LONGEST_BITS))
		return BUCKETS - 1;
	u32 shift = highest_bit(value) - BUCKET_BITS;
	return (shift << BUCKET_BITS) + (u32)(value >> shift);
}

/* Counts a value. The compiler knows that the bucket is one of them; the verifier wants to see it. */
INLINE void enter(u32 *buckets, u64 value, u32 times)
{
	u32 bucket = bucket_of(value);
	asm volatile("" : "+r"(bucket));
	if (bucket < BUCKETS)
		buckets[bucket] += times;
}

#endif
