//! How does a connection begin? Its first byte tells in which framing its client speaks.

use std::{sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{
    caller::{PeerCredentials, RpcCaller},
    context::{RpcPeer, ServerContext},
    conversation::{RpcConnection, converse, finish},
    exchange::MessageExchange,
    flight::ConnectionAdmission,
    framing::{FrameReader, MessageFraming},
    http, outgoing,
    wire::{ConnectionOpening, RewoundStream, RpcStream, opening},
};
use protocol::{ConnectionTransport, ErrorKind, RpcError};

/// How long whoever must show a token may take to begin.
const FIRST_BYTE: Duration = Duration::from_secs(5);
/// Speaks with one client until it hangs up, is cut off, or the daemon stops; then open calls are finished,
/// as far as they have effects or somebody still listens, for at most a few seconds.
pub async fn serve_connection<W: RpcStream>(wire: W, peer: PeerCredentials, reception: ServerContext) {
    let guest = RpcPeer { peer, admission: ConnectionAdmission::Everything, gate: None, origin: None };
    serve_guest(wire, guest, reception).await;
}

/// The same for a client that may have to show who it is, or is let in for little.
pub(super) async fn serve_guest<W: RpcStream>(wire: W, guest: RpcPeer, reception: ServerContext) {
    // Counted from the first moment, also while it says nothing.
    let caller = RpcCaller::new(guest.peer, Arc::clone(&reception.table.load));
    let opened = tokio::select! { biased;
        () = reception.stop.cancelled() => return,
        opened = opening(wire) => opened,
        // Nobody has shown a token yet, and whoever can reach the port could hold all the room there is.
        () = sleep(FIRST_BYTE), if guest.gate.is_some() => return,
    };
    let Ok((opening, wire)) = opened else { return };
    // Nobody has shown a token when the bytes are no HTTP request; only HTTP carries one.
    let is_http = opening == ConnectionOpening::Http || guest.gate.is_some();
    match opening {
        ConnectionOpening::Nothing => {}
        _ if is_http => http::serve(wire, caller, guest, reception).await,
        ConnectionOpening::Headers => {
            serve_stream(wire, MessageFraming::Headers, None, caller, guest, reception).await
        }
        ConnectionOpening::Lines | ConnectionOpening::Http => {
            serve_stream(wire, MessageFraming::Lines, None, caller, guest, reception).await;
        }
        ConnectionOpening::Garbage => {
            let words = "neither JSON, `Content-Length` nor HTTP; send one JSON value a line";
            serve_stream(wire, MessageFraming::Lines, Some(words), caller, guest, reception).await;
        }
    }
}

async fn serve_stream<W: RpcStream>(
    wire: RewoundStream<W>,
    framing: MessageFraming,
    refused: Option<&str>,
    caller: RpcCaller,
    guest: RpcPeer,
    reception: ServerContext,
) {
    caller.speaks(match framing {
        MessageFraming::Lines => ConnectionTransport::Lines,
        MessageFraming::Headers => ConnectionTransport::ContentLength,
    });
    let (reader, writer) = wire.split();
    let inbound = FrameReader::<W>::new(reader, framing);
    let (outgoing, queue) = outgoing::queue();
    let exchange = MessageExchange::new(caller, reception.table, outgoing, guest.admission);
    let mut connection = RpcConnection::new(inbound, exchange);
    let writing = queue.write_to(writer, framing);
    match refused {
        Some(words) => {
            let error = RpcError::new(ErrorKind::ParseError, words);
            let _ = connection.refuse(error).await;
            finish(connection.into_inbound(), writing).await;
        }
        None => converse(connection, writing, &reception.stop).await,
    }
}
