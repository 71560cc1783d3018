/* A router's fast path: frames that the kernel's own table routes go straight out of the other
 * interface, with new addresses and one hop less (RFC 1812 §5.3.1, RFC 8200 §3). Whatever needs more
 * than that (no neighbour yet, no hop left, options, too long, not IP) goes on to the stack, which
 * answers as ever. */
#include "program.h"

enum {
	FAMILY_IPV4 = 2,
	FAMILY_IPV6 = 10,
	FOUND = 0,
};

/* struct bpf_fib_lookup of linux/bpf.h. */
struct route {
	u8 family, protocol;
	u16 source_port, destination_port;
	u16 octets;
	u32 interface;
	u32 class;
	u32 source[4], destination[4];
	u32 vlan;
	u8 source_mac[6], destination_mac[6];
};

INLINE void readdress(void *ethernet, const struct route *route)
{
	AT32(ethernet) = *(const volatile u32 *)route->destination_mac;
	AT16(ethernet + 4) = *(const volatile u16 *)(route->destination_mac + 4);
	AT32(ethernet + 6) = *(const volatile u32 *)route->source_mac;
	AT16(ethernet + 10) = *(const volatile u16 *)(route->source_mac + 4);
}

/* Ports matter to a choice among equal routes. */
INLINE void read_ports(struct route *route, void *udp)
{
	route->source_port = AT16(udp);
	route->destination_port = AT16(udp + 2);
}

INLINE int forward_ipv4(struct frame_context *context, struct route *route)
{
	void *ethernet = START(context), *ip = ethernet + ETHERNET_OCTETS;
	if (ip + IPV4_OCTETS + UDP_OCTETS > END(context))
		return XDP_PASS;
	if (*(volatile u8 *)ip != 0x45 || *(volatile u8 *)(ip + 8) <= 1)
		return XDP_PASS;
	route->family = FAMILY_IPV4;
	route->class = *(volatile u8 *)(ip + 1);
	route->protocol = *(volatile u8 *)(ip + 9);
	route->octets = be16(AT16(ip + 2));
	route->source[0] = AT32(ip + 12);
	route->destination[0] = AT32(ip + 16);
	if (!(AT16(ip + 6) & be16(0x3fff)))
		read_ports(route, ip + IPV4_OCTETS);
	if (route_lookup(context, route, sizeof(*route), 0) != FOUND)
		return XDP_PASS;
	/* RFC 1624: the hop limit is a word's upper half, so one less there is 0x0100 more here. */
	u32 checksum = (u32)be16(AT16(ip + 10)) + 0x0100;
	AT16(ip + 10) = be16((u16)(checksum + (checksum >> 16)));
	*(volatile u8 *)(ip + 8) -= 1;
	readdress(ethernet, route);
	return (int)redirect_to(route->interface, 0);
}

INLINE int forward_ipv6(struct frame_context *context, struct route *route)
{
	void *ethernet = START(context), *ip = ethernet + ETHERNET_OCTETS;
	if (ip + IPV6_OCTETS + UDP_OCTETS > END(context))
		return XDP_PASS;
	if (*(volatile u8 *)(ip + 7) <= 1)
		return XDP_PASS;
	route->family = FAMILY_IPV6;
	route->class = AT32(ip) & be32(0x0fffffff);
	route->protocol = *(volatile u8 *)(ip + 6);
	route->octets = be16(AT16(ip + 4)) + IPV6_OCTETS;
#pragma unroll
	for (int word = 0; word < 4; word++) {
		route->source[word] = AT32(ip + 8 + 4 * word);
		route->destination[word] = AT32(ip + 24 + 4 * word);
	}
	if (route->protocol == PROTOCOL_UDP)
		read_ports(route, ip + IPV6_OCTETS);
	if (route_lookup(context, route, sizeof(*route), 0) != FOUND)
		return XDP_PASS;
	*(volatile u8 *)(ip + 7) -= 1;
	readdress(ethernet, route);
	return (int)redirect_to(route->interface, 0);
}

SECTION("xdp")
int forward(struct frame_context *context)
{
	void *ethernet = START(context);
	if (ethernet + ETHERNET_OCTETS > END(context))
		return XDP_PASS;
	/* Broadcast and multicast are the stack's. */
	if (*(volatile u8 *)ethernet & 1)
		return XDP_PASS;
	struct route route = {};
	route.interface = context->ingress_interface;
	if (AT16(ethernet + 12) == be16(ETHER_IPV4))
		return forward_ipv4(context, &route);
	if (AT16(ethernet + 12) == be16(ETHER_IPV6))
		return forward_ipv6(context, &route);
	return XDP_PASS;
}
