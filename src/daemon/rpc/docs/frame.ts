
/** A method's name. */
export type MethodName = keyof Methods;

/** What a client sends. Without `id` it is a notification, which is not answered. */
export interface RpcRequest<M extends MethodName = MethodName> {
  jsonrpc: "2.0";
  id: number | string;
  method: M;
  params: Methods[M]["params"];
}

export interface RpcSuccess<M extends MethodName = MethodName> {
  jsonrpc: "2.0";
  id: number | string;
  result: Methods[M]["result"];
}

/** `id` is null when the request could not be read. */
export interface RpcFailure {
  jsonrpc: "2.0";
  id: number | string | null;
  error: RpcError;
}

/** The answer to a request. Answers come when they are ready, in any order. */
export type RpcResponse<M extends MethodName = MethodName> = RpcSuccess<M> | RpcFailure;

/** Cancels a request that is open; `$/cancel_request` is the same. It is not answered itself. */
export interface CancelRequest {
  jsonrpc: "2.0";
  method: "$/cancelRequest";
  params: { id: number | string };
}

/** A fact: stored before it was sent, numbered, in order. */
export type EventEnvelope<T extends keyof Events = keyof Events> = {
  [K in T]: Omit<Envelope, "type" | "data" | "seq" | "at"> & {
    type: K;
    data: Events[K];
    seq: EventSeq;
    at: Timestamp;
  };
}[T];

/** What is no fact: a delta or a signal. */
export type SignalEnvelope<T extends keyof Signals = keyof Signals> = {
  [K in T]: Omit<Envelope, "type" | "data" | "seq" | "prev"> & { type: K; data: Signals[K] };
}[T];

/**
 * What a subscription sends, told apart by `type`. A newer daemon sends types that are not listed here: give a
 * `switch` over `type` a `default` that goes on, and take the `seq` of what you skip.
 */
export type KnownEnvelope = EventEnvelope | SignalEnvelope;

/** The one notification that the daemon sends. */
export interface EventMessage {
  jsonrpc: "2.0";
  method: "event";
  params: {
    /** Missing for signals that concern the connection, not a subscription. */
    subscription?: SubscriptionId;
    result: KnownEnvelope;
  };
}

/** Any line that the daemon sends outside of a batch. */
export type ServerMessage = RpcResponse | EventMessage;
