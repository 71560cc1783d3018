//! A connection from its first octet to where HTTP begins: a TLS handshake, within a time limit and
//! a limit on how many run at once.
//!
//! Owns these limits, and the answer to clients that do not speak TLS. Never reads a request.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::identity::Identity;
use crate::options::Limits;
use crate::refusal::Refusal;

/// First octet of TLS: a handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;
/// Maximum octets read of a refused request, so that its sender gets to read the answer.
const LARGEST_REFUSED: u64 = 64 << 10;
const LAST_WORDS: Duration = Duration::from_millis(500);
const NO_TLS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 45\r\nconnection: close\r\n\r\nthis port speaks TLS: ask for it by https://\n";

/// Takes handshakes.
pub(crate) struct Handshakes {
    acceptor: TlsAcceptor,
    free: Semaphore,
    patience: Duration,
}

impl Handshakes {
    pub(crate) fn new(identity: &Identity, limits: &Limits) -> Self {
        Self {
            acceptor: identity.config().into(),
            free: Semaphore::new(limits.handshakes),
            patience: limits.request,
        }
    }

    /// Returns the connection after its handshake; `None` if it was closed before its first octet.
    pub(crate) async fn shake(
        self: Arc<Self>,
        connection: TcpStream,
    ) -> Result<Option<TlsStream<TcpStream>>, Refusal> {
        let _turn = self.free.try_acquire().map_err(|_| Refusal::Full)?;
        let shaken = timeout(self.patience, async {
            let mut first = [0];
            match connection.peek(&mut first).await {
                Ok(0) | Err(_) => Ok(None),
                Ok(_) if first != [HANDSHAKE] => Err(Some(connection)),
                Ok(_) => self.acceptor.accept(connection).await.map(Some).map_err(|_| None),
            }
        });
        match shaken.await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(None)) => Err(Refusal::Handshake),
            Ok(Err(Some(connection))) => {
                let _ = timeout(LAST_WORDS, say_why(connection)).await;
                Err(Refusal::Handshake)
            }
            Err(_) => Err(Refusal::Slow),
        }
    }
}

/// Answers a client that does not speak TLS. Reads its request to the end: unread octets would
/// discard the answer.
async fn say_why(mut connection: TcpStream) -> std::io::Result<()> {
    connection.write_all(NO_TLS).await?;
    connection.shutdown().await?;
    let mut rest = connection.take(LARGEST_REFUSED);
    let mut piece = [0; 1024];
    while rest.read(&mut piece).await? > 0 {}
    Ok(())
}
