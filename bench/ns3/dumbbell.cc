// The dumbbell of docs/benchmarks.md, for ns-3: two hosts, a router, a cable, a router, two hosts. One
// TCP connection (CUBIC, SACK, delayed acknowledgements) runs beside a load of UDP datagrams over the
// cable between the routers, whose queue drops at its tail. Prints one line of figures for the bench to
// read, and never draws or writes files: it is here to be timed against.

#include <sys/resource.h>

#include <cstdio>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

// What a frame is longer than its IP packet: here PPP's two octets; on Ethernet header, FCS, preamble
// and gap. Rates are multiplied by the quotient, so that a packet takes as long as it does there.
constexpr double PPP = 2.0;
constexpr double ETHERNET = 38.0;
constexpr uint64_t IP_AND_UDP = 28;
// IPv4, TCP, and the option of time stamps.
constexpr uint32_t IP_AND_TCP = 52;

uint64_t sentSegments = 0;

void CountSegment(Ptr<const Packet> packet, const TcpHeader &, Ptr<const TcpSocketBase>) {
  sentSegments += packet->GetSize() > 0 ? 1 : 0;
}

void WatchSender() {
  Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/*/Tx",
                                MakeCallback(&CountSegment));
}

uint64_t DroppedAt(const Ptr<NetDevice> &device) {
  return DynamicCast<PointToPointNetDevice>(device)->GetQueue()->GetTotalDroppedPackets();
}

double ProcessorSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval &time) { return time.tv_sec + time.tv_usec / 1e6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

int main(int argc, char *argv[]) {
  double rate = 10e9, background = 2e9, seconds = 30, delayMs = 25;
  uint32_t mtu = 9000, datagram = 8000;
  uint64_t queue = 64000000, window = 1 << 30;
  CommandLine cmd;
  cmd.AddValue("rate", "of every cable, bits a second", rate);
  cmd.AddValue("background", "load of datagrams, bits a second on the wire", background);
  cmd.AddValue("seconds", "of virtual time", seconds);
  cmd.AddValue("delay", "of the middle cable, one way, milliseconds", delayMs);
  cmd.AddValue("mtu", "octets of TCP's IP packets", mtu);
  cmd.AddValue("datagram", "octets of the load's IP packets", datagram);
  cmd.AddValue("queue", "at each end of the middle cable, octets", queue);
  cmd.AddValue("window", "of TCP, octets", window);
  cmd.Parse(argc, argv);

  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mtu - IP_AND_TCP));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));

  NodeContainer nodes;
  nodes.Create(6);
  InternetStackHelper stack;
  stack.Install(nodes);

  const double scale = (mtu + PPP) / (mtu + ETHERNET);
  PointToPointHelper cable;
  cable.SetDeviceAttribute("Mtu", UintegerValue(mtu));
  cable.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate * scale))));
  cable.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                 QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, queue)));
  // Hosts 0 and 1 at router 4, hosts 2 and 3 at router 5.
  const uint32_t ends[5][2] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}};
  NetDeviceContainer devices[5];
  Ipv4InterfaceContainer addresses[5];
  Ipv4AddressHelper plan("10.0.0.0", "255.255.255.0");
  for (int i = 0; i < 5; i++) {
    const Time delay = i == 4 ? MicroSeconds(int64_t(delayMs * 1000)) : MicroSeconds(5);
    cable.SetChannelAttribute("Delay", TimeValue(delay));
    devices[i] = cable.Install(nodes.Get(ends[i][0]), nodes.Get(ends[i][1]));
    addresses[i] = plan.Assign(devices[i]);
    // No queue discipline above the device: its own queue is the buffer, as on a switch.
    TrafficControlHelper().Uninstall(devices[i]);
    plan.NewNetwork();
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();

  const uint16_t port = 9;
  PacketSinkHelper tcpSink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
  ApplicationContainer tcpReceiver = tcpSink.Install(nodes.Get(2));
  PacketSinkHelper udpSink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
  ApplicationContainer udpReceiver = udpSink.Install(nodes.Get(3));

  BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(addresses[2].GetAddress(0), port));
  bulk.SetAttribute("SendSize", UintegerValue(8 * (mtu - IP_AND_TCP)));
  ApplicationContainer tcpSender = bulk.Install(nodes.Get(0));
  tcpSender.Start(Seconds(0));
  if (background > 0) {
    OnOffHelper load("ns3::UdpSocketFactory", InetSocketAddress(addresses[3].GetAddress(0), port));
    const uint64_t payload = datagram - IP_AND_UDP;
    const double payloadRate = background * payload / (datagram + ETHERNET);
    load.SetConstantRate(DataRate(uint64_t(payloadRate)), payload);
    load.Install(nodes.Get(1)).Start(Seconds(0));
  }
  Simulator::Schedule(MilliSeconds(1), &WatchSender);

  Simulator::Stop(Seconds(seconds));
  const double before = ProcessorSeconds();
  Simulator::Run();
  const double processor = ProcessorSeconds() - before;
  std::printf("processor_s=%.3f events=%llu segments=%llu received=%llu datagrams=%llu drops=%llu\n",
              processor, (unsigned long long)Simulator::GetEventCount(), (unsigned long long)sentSegments,
              (unsigned long long)DynamicCast<PacketSink>(tcpReceiver.Get(0))->GetTotalRx(),
              (unsigned long long)DynamicCast<PacketSink>(udpReceiver.Get(0))->GetTotalRx() /
                  (datagram - IP_AND_UDP),
              (unsigned long long)DroppedAt(devices[4].Get(0)));
  Simulator::Destroy();
  return 0;
}
