"""Joins two TUN devices, each in a network namespace, as a user-space VPN does.

relay.py NAMESPACE NAMESPACE BIT_PER_SECOND DELAY_MS LONGEST_PACKET

A device is read while the line behind it holds less than QUEUE octets, so that packets queue, and
are dropped, in the device. Packets longer than LONGEST_PACKET vanish, and no ICMP error says so.
Ends when its standard input does.
"""
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

CLONE_NEWNET, TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x40000000, 0x400454CA, 1, 0x1000
QUEUE = 15000
rate, delay, longest = float(sys.argv[3]), float(sys.argv[4]) / 1e3, int(sys.argv[5])


def tun(namespace):
    space = os.open("/run/netns/" + namespace, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    return device


ends = [tun(sys.argv[1]), tun(sys.argv[2])]
free, waiting = [0.0, 0.0], [[], []]
print("ready", flush=True)
while True:
    now = time.monotonic()
    for side in (0, 1):
        while waiting[side] and waiting[side][0][0] <= now:
            try:
                os.write(ends[1 - side], waiting[side].pop(0)[1])
            except OSError:
                pass
    full = QUEUE * 8 / rate
    open_ends = [ends[side] for side in (0, 1) if free[side] - now < full]
    due = [packets[0][0] for packets in waiting if packets]
    due += [free[side] - full for side in (0, 1) if ends[side] not in open_ends]
    wait = max(0, min(due) - now) if due else 1
    ready, _, _ = select.select(open_ends + [sys.stdin], [], [], wait)
    if sys.stdin in ready:
        sys.exit()
    now = time.monotonic()
    for device in ready:
        side = ends.index(device)
        while free[side] - now < full:
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                break
            if len(packet) <= longest:
                free[side] = max(free[side], now) + len(packet) * 8 / rate
                waiting[side].append((free[side] + delay, packet))
