//! The server itself: connections taken in, each within its limits, and all of them let go at the
//! end.
//!
//! Owns the async runtime, one thread of it, and the limits of connections. Never reads the
//! journal.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use crate::handshake::Handshakes;
use crate::listen::{Bound, Listen, Own, Place};
use crate::options::{Limits, Options};
use crate::refusal::{Counts, Refusal};
use crate::routes::{App, router};
use crate::source::Source;
use crate::stall::StallDeadline;

/// A head is no larger than this, in octets, and has no more fields.
const LARGEST_HEAD: usize = 16 << 10;
const MOST_FIELDS: usize = 64;
/// Time for answers under way when the server ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Reason for which there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("listen at {place}")]
    Listen {
        /// Place that was requested.
        place: Place,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// Other machines can reach it, and nothing keeps them out.
    #[error("listen at {place}: others than this machine can reach it, and there is no token")]
    NoToken {
        /// Place that was requested.
        place: Place,
    },
    /// Other users of this machine can reach it, and nothing keeps them from acting.
    #[error("listen at {place}: any user of this machine could stop runs, and there is no token")]
    AnyUser {
        /// Place that was requested.
        place: Place,
    },
    /// A socket is this user's alone, and browsers come to it by something else.
    #[error("listen at {place}: there is no TLS at a socket")]
    SecureSocket {
        /// Place that was requested.
        place: Place,
    },
    /// The runtime cannot be started.
    #[error("start the server")]
    Runtime(#[source] io::Error),
}

impl ServeError {
    /// Returns advice on what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Listen { cause, .. } => match cause.kind() {
                io::ErrorKind::AddrInUse => Some(
                    "another process has it: end that one, or name another port by --listen (port 0: any that is free)",
                ),
                io::ErrorKind::PermissionDenied => {
                    Some("name a port above 1023, or a socket where you may make one, by --listen")
                }
                io::ErrorKind::AlreadyExists => Some("name a file that is not there yet"),
                _ => Some("name an address of this machine by --listen"),
            },
            Self::NoToken { .. } => Some(
                "put a secret of 16 characters or more into a file and name it by --token-file; or listen at 127.0.0.1 and come by ssh -L",
            ),
            Self::AnyUser { .. } => Some(
                "put a secret of 16 characters or more into a file and name it by --token-file; or listen at a socket: --listen unix:PATH",
            ),
            Self::SecureSocket { .. } => Some(
                "name an address by --listen; or leave out --tls-certificate and --tls-key: a proxy before the socket has its own",
            ),
            Self::Runtime(_) => None,
        }
    }
}

/// Server that listens, and answers nobody yet.
#[derive(Debug)]
pub struct Server {
    bound: Bound,
    place: Place,
    options: Options,
    stop: watch::Sender<bool>,
    counts: Arc<Counts>,
}

/// Ends a server, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    stop: watch::Sender<bool>,
    counts: Arc<Counts>,
}

impl Stopper {
    /// Ends the server; one call is enough.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Stops the server. Pages that follow runs first get `patience` to learn how these ended.
    #[expect(clippy::disallowed_methods, reason = "a wait for readers, not a measurement")]
    pub fn stop_after(&self, patience: Duration) {
        if self.counts.has_streams() {
            std::thread::sleep(patience);
        }
        self.stop();
    }
}

impl Server {
    /// Listens, if that is allowed.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let is_secure = options.identity.is_some();
        let place = Place { listen: options.listen.clone(), is_secure };
        let is_socket = matches!(place.listen, Listen::Unix(_));
        if is_socket && is_secure {
            return Err(ServeError::SecureSocket { place });
        }
        if place.listen.is_open() && options.token.is_none() {
            return Err(ServeError::NoToken { place });
        }
        if options.deeds.is_some() && !is_socket && options.token.is_none() {
            return Err(ServeError::AnyUser { place });
        }
        let failed = |cause| ServeError::Listen { place: place.clone(), cause };
        let bound = Bound::to(&place.listen).map_err(failed)?;
        let listen = bound.listens_at().map_err(failed)?;
        let place = Place { listen, is_secure };
        let (stop, _) = watch::channel(false);
        Ok(Self { bound, place, options, stop, counts: Arc::default() })
    }

    /// Returns the place, with the port that the kernel chose if none was requested.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Returns a handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        Stopper { stop: self.stop.clone(), counts: Arc::clone(&self.counts) }
    }

    /// Answers until it is stopped.
    pub fn run(self, source: Arc<dyn Source>) -> Result<(), ServeError> {
        let Self { bound, options, stop, counts, .. } = self;
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .build()
            .map_err(ServeError::Runtime)?;
        let limits = options.limits;
        let handshakes =
            options.identity.as_ref().map(|identity| Arc::new(Handshakes::new(identity, &limits)));
        let app = App::new(source, options, Arc::clone(&counts));
        let acceptor = Acceptor {
            router: router(Arc::new(app)),
            free: Arc::new(Semaphore::new(limits.connections)),
            handshakes,
            limits,
            counts,
            stop: stop.subscribe(),
        };
        let served = runtime.block_on(acceptor.accept_from(bound)).map_err(ServeError::Runtime);
        runtime.shutdown_timeout(LAST_WORDS);
        served
    }
}

/// Takes connections in.
struct Acceptor {
    router: Router,
    free: Arc<Semaphore>,
    /// TLS handshakes; `None` for plain HTTP.
    handshakes: Option<Arc<Handshakes>>,
    limits: Limits,
    counts: Arc<Counts>,
    stop: watch::Receiver<bool>,
}

/// Socket by which connections come in.
enum Listener {
    Tcp(TcpListener),
    Unix(#[expect(dead_code, reason = "removes the file at its end")] Own, UnixListener),
}

/// Connection that came in.
enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Connection that carries HTTP.
trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}
impl<C: AsyncRead + AsyncWrite + Send + Unpin> Connection for C {}

impl Listener {
    async fn next(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (connection, _) = listener.accept().await?;
                connection.set_nodelay(true)?;
                Ok(Accepted::Tcp(connection))
            }
            Self::Unix(_, listener) => Ok(Accepted::Unix(listener.accept().await?.0)),
        }
    }
}

impl Acceptor {
    async fn accept_from(self, bound: Bound) -> io::Result<()> {
        let listener = match bound {
            Bound::Tcp(listener) => Listener::Tcp(TcpListener::from_std(listener)?),
            Bound::Unix(own, listener) => Listener::Unix(own, UnixListener::from_std(listener)?),
        };
        let mut stop = self.stop.clone();
        loop {
            let ended = stop.wait_for(|ended| *ended);
            match either(ended, listener.next()).await {
                Either::First(_) => break,
                Either::Second(Ok(connection)) => self.take(connection),
                // Out of descriptors, or closed before it was taken: others may come.
                Either::Second(Err(_)) => sleep(Duration::from_millis(50)).await,
            }
        }
        drop(listener);
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        let _ = timeout(LAST_WORDS, self.free.acquire_many(all)).await;
        Ok(())
    }

    fn take(&self, accepted: Accepted) {
        let counts = Arc::clone(&self.counts);
        let Ok(place) = Arc::clone(&self.free).try_acquire_owned() else {
            counts.refuse(Refusal::Full);
            // With TLS, an answer would take a handshake.
            if self.handshakes.is_none() {
                tokio::spawn(turn_away(accepted.plain()));
            }
            return;
        };
        let (router, limits, stop) = (self.router.clone(), self.limits, self.stop.clone());
        let handshakes = self.handshakes.clone();
        tokio::spawn(async move {
            let _held = counts.connection();
            if let Some(connection) = accepted.ready(handshakes, stop.clone(), &counts).await {
                let connection =
                    StallDeadline::new(connection, limits.stalled, Arc::clone(&counts));
                answer(connection, router, limits, stop, &counts).await;
            }
            drop(place);
        });
    }
}

impl Accepted {
    fn plain(self) -> Box<dyn Connection> {
        match self {
            Self::Tcp(connection) => Box::new(connection),
            Self::Unix(connection) => Box::new(connection),
        }
    }

    /// Returns the connection ready for HTTP, after its TLS handshake if it has one; `None` if the
    /// handshake failed or the server ends.
    async fn ready(
        self,
        handshakes: Option<Arc<Handshakes>>,
        mut stop: watch::Receiver<bool>,
        counts: &Counts,
    ) -> Option<Box<dyn Connection>> {
        let (handshakes, connection) = match (handshakes, self) {
            (Some(handshakes), Self::Tcp(connection)) => (handshakes, connection),
            (_, plain) => return Some(plain.plain()),
        };
        let ended = stop.wait_for(|ended| *ended);
        match either(ended, handshakes.shake(connection)).await {
            Either::Second(Ok(connection)) => Some(Box::new(connection?)),
            Either::Second(Err(why)) => {
                counts.refuse(why);
                None
            }
            Either::First(_) => None,
        }
    }
}

/// Turns a connection away in one write, as far as the socket takes it.
async fn turn_away(mut connection: Box<dyn Connection>) {
    let words = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let written = poll_fn(|context| Pin::new(&mut connection).poll_write(context, words));
    let _ = timeout(Duration::from_millis(500), written).await;
}

async fn answer(
    connection: StallDeadline<Box<dyn Connection>>,
    router: Router,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
    counts: &Counts,
) {
    let service =
        service_fn(move |request: Request<Incoming>| router.clone().call(request.map(Body::new)));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(MOST_FIELDS)
        .serve_connection(TokioIo::new(connection), service);
    let mut serving = pin!(serving);
    let ended = stop.wait_for(|ended| *ended);
    if let Either::Second(done) = either(ended, serving.as_mut()).await {
        if let Some(why) = done.err().and_then(|error| reason(&error)) {
            counts.refuse(why);
        }
        return;
    }
    serving.as_mut().graceful_shutdown();
    let _ = timeout(LAST_WORDS / 2, serving).await;
}

/// Reason for which a connection was given up; `None` if that was no refusal.
fn reason(error: &hyper::Error) -> Option<Refusal> {
    if error.is_parse_too_large() {
        Some(Refusal::Oversized)
    } else if error.is_parse() {
        Some(Refusal::Malformed)
    } else if error.is_timeout() {
        Some(Refusal::Slow)
    } else {
        None
    }
}

enum Either<A, B> {
    First(A),
    Second(B),
}

/// Whichever is there first.
async fn either<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    poll_fn(move |context| {
        let first: Pin<&mut A> = first.as_mut();
        if let Poll::Ready(done) = first.poll(context) {
            return Poll::Ready(Either::First(done));
        }
        second.as_mut().poll(context).map(Either::Second)
    })
    .await
}
