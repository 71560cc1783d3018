//! Flows with an iperf3 server at one end, as orders for the agent at the near end alone.
//!
//! Pure. Owns the features of such a server, and the rule that one test has at most one flow in
//! each direction. Never knows iperf3's protocol.

use std::net::{IpAddr, SocketAddr};

use dataplane::Identity;
use dataplane::iperf3::{self, Test, Way};
use dataplane::opening::Opening;
use trial::topology::PortRef;
use trial::{Flow, FlowKind};

use super::{ByHost, Scene, answered_by_kernel, check_schedule, refused};
use crate::failed::Failed;
use crate::protocol::{Order, Work};

/// An iperf3 server at the far end of a flow.
pub(super) struct FarServer<'a> {
    /// Port of the agent.
    near: &'a PortRef,
    /// Port of the server's host.
    far: &'a PortRef,
    /// TCP port on which the server listens.
    port: u16,
    /// True if the server sends.
    reverse: bool,
}

impl Scene<'_> {
    /// Finds the flow's iperf3 server; `None` if agents are at both ends, or a kernel answers.
    pub(super) fn server_of<'f>(&self, flow: &'f Flow) -> Result<Option<FarServer<'f>>, Failed> {
        let port = |end: &PortRef| self.topology.runs_at(end).iperf3_port();
        let (near, far, port, reverse) = match (port(&flow.from), port(&flow.to)) {
            (None, None) => return Ok(None),
            (None, Some(_)) if answered_by_kernel(flow) => return Ok(None),
            (Some(_), Some(_)) => {
                let why = "iperf3 servers are at both its ends, and one has to be an agent";
                return Err(refused(flow, why).unavailable());
            }
            (None, Some(port)) => (&flow.from, &flow.to, port, false),
            (Some(port), None) => (&flow.to, &flow.from, port, true),
        };
        if matches!(flow.kind, FlowKind::Bulk(_) | FlowKind::Datagrams(_)) {
            return Ok(Some(FarServer { near, far, port, reverse }));
        }
        let only = "runs an iperf3 server only, which takes TCP streams and UDP at a rate";
        let why = format!("host `{}` {only}", far.host);
        Err(refused(flow, why).unavailable())
    }

    /// Builds one order for each test, for the agents at the near ends.
    pub(super) fn tests(&self) -> Result<ByHost<Order>, Failed> {
        let mut orders: ByHost<Order> = ByHost::new();
        for flow in &self.lanes.trial().flows {
            let Some(server) = self.server_of(flow)? else { continue };
            let limit = match &flow.kind {
                FlowKind::Datagrams(asked) if !iperf3::is_plain(asked) => {
                    let why = "iperf3 sends frames of one size, at one rate, by a UDP socket and with plain headers";
                    return Err(refused(flow, why).unavailable());
                }
                FlowKind::Datagrams(asked) => {
                    check_schedule(flow, asked.schedule)?;
                    self.limit(flow, asked)?
                }
                _ => 0,
            };
            let local = self.address(flow, server.near)?;
            let remote = SocketAddr::new(self.address(flow, server.far)?, server.port);
            let (reverse, kind) = (server.reverse, flow.kind.clone());
            let way = Way { flow: flow.id, reverse, kind, limit };
            // A server runs one test at a time, for any client.
            let busy = orders.values_mut().flatten().find(|order| order.remote == remote);
            match busy {
                None => {
                    let identity = Identity { token: self.token, flow: flow.id };
                    let test = Work::Iperf3(Test { ways: vec![way] });
                    let opening = Opening::PLAIN;
                    let order = Order { local, remote, identity, opening, flow: test };
                    orders.entry(server.near.host.clone()).or_default().push(order);
                }
                Some(order) => join(order, way, local).map_err(|why| {
                    let server = format!("the iperf3 server of host `{}`", server.far.host);
                    refused(flow, format!("{server} {why}")).unavailable()
                })?,
            }
        }
        Ok(orders)
    }
}

/// Adds the other direction to a test.
fn join(order: &mut Order, way: Way, local: IpAddr) -> Result<(), &'static str> {
    const ONE: &str = "runs one test at a time, of one flow each way at most";
    let (true, Work::Iperf3(test)) = (order.local == local, &mut order.flow) else {
        return Err(ONE);
    };
    match test.ways.as_slice() {
        [first] if first.reverse != way.reverse && first.kind == way.kind => {
            test.ways.push(way);
            Ok(())
        }
        [first] if first.reverse != way.reverse => {
            Err("runs flows alike each way, and these are not")
        }
        _ => Err(ONE),
    }
}
