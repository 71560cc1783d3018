//! A connection that waits for its reader only so long: a browser that stalls is dropped, and what
//! it was sent is not kept for it.
//!
//! Owns that one deadline. Never buffers.

use std::future::Future as _;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::refusal::{Counts, Refusal};

/// A connection with that deadline.
pub(crate) struct StallDeadline<C> {
    inner: C,
    patience: Duration,
    deadline: Pin<Box<Sleep>>,
    is_waiting: bool,
    counts: Arc<Counts>,
}

impl<C> StallDeadline<C> {
    pub(crate) fn new(inner: C, patience: Duration, counts: Arc<Counts>) -> Self {
        let deadline = Box::pin(tokio::time::sleep(patience));
        Self { inner, patience, deadline, is_waiting: false, counts }
    }

    /// Passes an answer on; begins, continues or ends a wait for the reader.
    fn judged<T>(
        &mut self,
        answer: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            self.is_waiting = false;
            return answer;
        }
        if !self.is_waiting {
            self.is_waiting = true;
            self.deadline.as_mut().reset(Instant::now() + self.patience);
        }
        ready!(self.deadline.as_mut().poll(context));
        self.is_waiting = false;
        self.counts.refuse(Refusal::Stalled);
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for StallDeadline<C> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, into)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for StallDeadline<C> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write(context, octets);
        self.judged(answer, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.inner).poll_write_vectored(context, slices);
        self.judged(answer, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.inner).poll_flush(context);
        self.judged(answer, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // By TLS there are last words, which a reader has to take too.
        let answer = Pin::new(&mut self.inner).poll_shutdown(context);
        self.judged(answer, context)
    }
}
