"""Joins TUN devices, each in a network namespace, as a user-space VPN does.

relay.py BIT_PER_SECOND DELAY_MS LONGEST_PACKET NAMESPACE NAMESPACE...

The device in the nth namespace is that of the IPv4 address whose last octet is n. Each has a line to
the relay and one from it, both of the same rate. A device is read while its line holds less than
QUEUE octets, so that packets queue, and are dropped, in the device; a line from the relay holds
DEPTH octets. Packets longer than LONGEST_PACKET vanish, and no ICMP error says so. Ends when its
standard input does.
"""
import ctypes
import fcntl
import heapq
import os
import select
import struct
import sys
import time

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 1, 0x1000
QUEUE, DEPTH = 15000, 100000
LAST_OCTET = 19
rate, delay, longest = float(sys.argv[1]), float(sys.argv[2]) / 1e3, int(sys.argv[3])


def tun(namespace):
    space = os.open("/run/netns/" + namespace, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    return device


ends = [tun(namespace) for namespace in sys.argv[4:]]
# When each line is free: to the relay, and from it.
up, down = [0.0] * len(ends), [0.0] * len(ends)
waiting, number = [], 0
print("ready", flush=True)
while True:
    now = time.monotonic()
    while waiting and waiting[0][0] <= now:
        _, _, to, packet = heapq.heappop(waiting)
        try:
            os.write(ends[to], packet)
        except OSError:
            pass
    full = QUEUE * 8 / rate
    open_ends = [end for end, free in zip(ends, up) if free - now < full]
    due = [waiting[0][0]] if waiting else []
    due += [free - full for free in up if free - now >= full]
    wait = max(0, min(due) - now) if due else 1
    ready, _, _ = select.select(open_ends + [sys.stdin], [], [], wait)
    if sys.stdin in ready:
        sys.exit()
    now = time.monotonic()
    for device in ready:
        side = ends.index(device)
        while up[side] - now < full:
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                break
            if packet[0] >> 4 != 4 or len(packet) > longest:
                continue
            took = len(packet) * 8 / rate
            up[side] = max(up[side], now) + took
            to = packet[LAST_OCTET] - 1
            if to not in range(len(ends)) or down[to] - up[side] > DEPTH * 8 / rate:
                continue
            # The first bit goes on as soon as it has arrived.
            down[to] = max(down[to] + took, up[side])
            heapq.heappush(waiting, (down[to] + delay, number, to, packet))
            number += 1
