import { contextOf, type OpenSpan, onResponseEnd, runWithContext } from "@svc/context";
import { badRequest, type ProblemError } from "@svc/problem";
import { errorFields } from "@svc/resilience";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { type Dispatcher, errors } from "undici";
import { failureKind, failureProblem, notAnswering, requestTimedOut, tooLarge } from "./failures.ts";
import type { Forwarding } from "./forwarding.ts";
import { type BodyListener, hasBody, RequestBody } from "./request-body.ts";
import { requestHeaders } from "./request-headers.ts";
import { copyHeaders } from "./response-headers.ts";
import type { Target, TargetCall } from "./targets.ts";

const EXCHANGE = Symbol("gateway exchange");

interface WithExchange extends ServerResponse {
  [EXCHANGE]?: Exchange;
}

/** Reason with which requests of undici are aborted. It never reaches a client or a log. */
const ABORTED = new Error("the gateway has ended the request");

/**
 * Passes one request on to a target, and the response back. Forwards bytes only as fast as the receiver accepts them, and
 * ends one side when the other side ends.
 */
export class Exchange implements Dispatcher.DispatchHandler, BodyListener {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly forwarding: Forwarding;
  readonly #next: (error?: unknown) => void;
  /** Called once, with the error of a request that failed. */
  onSettled: ((error?: Error) => void) | undefined;
  span: OpenSpan | undefined;
  #call: TargetCall | undefined;
  #tried: Target[] | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #interimTimer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  /** Listener for `drain`, from the first pause on. */
  #onDrain: (() => void) | undefined;
  #isDone = false;

  constructor(
    forwarding: Forwarding,
    req: IncomingMessage,
    res: ServerResponse,
    next: (error?: unknown) => void,
  ) {
    this.forwarding = forwarding;
    this.req = req;
    this.res = res;
    this.#next = next;
    this.onSettled = undefined;
    this.span = undefined;
    (res as WithExchange)[EXCHANGE] = this;
    onResponseEnd(req, res, responseEnded);
  }

  /** Whether the exchange has ended, for example because the client has disconnected. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Sends the request to the next target. */
  dispatch(cause?: Error): void {
    const { targets } = this.forwarding.route;
    const call = targets.begin(this.#tried);
    if (call === undefined) return this.fail(notAnswering(this.req, this.forwarding.route, cause));
    this.#call = call;
    this.#controller = undefined;
    this.span?.set({ "server.address": call.target.address });
    call.target.pool.dispatch(this.requestOptions(), this);
  }

  protected requestOptions(): Dispatcher.DispatchOptions {
    const { req, forwarding } = this;
    return {
      path: forwarding.path,
      method: req.method ?? "GET",
      headers: requestHeaders(req, forwarding, this.span?.trace),
      body: hasBody(req) ? this.#body() : null,
    };
  }

  /** Called when the connection is made and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isDone) controller.abort(ABORTED);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return this.#limitInterim();
    const { res } = this;
    clearTimeout(this.#interimTimer);
    this.#call?.succeeded();
    // Another middleware has responded, for example at its own time limit.
    if (res.headersSent || res.writableEnded) return this.#abandon();
    this.#isAnswered = true;
    this.span?.set({ "http.response.status_code": status });
    res.statusCode = status;
    const closes = copyHeaders(res, headers);
    // For HEAD, undici itself sends `Connection: close`. After a 4xx, a service may close the connection without draining.
    if (closes && this.req.method !== "HEAD" && !(status >= 400 && status < 500))
      this.#call?.target.markDraining();
    // Usually the first bytes of the body follow in this tick, and are sent together with the head.
    process.nextTick(flushHead, res);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    // Another middleware has ended the response; a further write would raise an error event.
    if (this.res.writableEnded) return this.clientGone();
    if (this.res.write(chunk)) return;
    controller.pause();
    if (this.#onDrain !== undefined) return;
    // Middleware such as compression() registers the listener on a stream of its own, so it must not use its `this`.
    this.#onDrain = () => this.#controller?.resume();
    this.res.on("drain", this.#onDrain);
  }

  onResponseEnd(): void {
    if (this.#isDone) return;
    this.#finish();
    this.res.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#isDone) return;
    if (this.#controller === undefined) return this.#connectionFailed(error);
    const kind = failureKind(error);
    if (kind === "refused" || kind === "stopped") this.#call?.cancelled();
    else this.#call?.failed();
    if (!this.#isAnswered) return this.fail(failureProblem(this.req, this.forwarding.route, error));
    const fields = { gateway_prefix: this.forwarding.route.prefix, ...errorFields(error) };
    this.forwarding.logger?.warn(fields, "a service behind the gateway broke off its response");
    this.#finish(error);
    // An orderly end would make the response look complete.
    this.res.destroy();
  }

  #body(): RequestBody {
    const { maxBodyBytes: maxBytes, timeoutSeconds } = this.forwarding.route;
    return new RequestBody(this.req, { maxBytes, idleMs: timeoutSeconds * 1000 }, this);
  }

  bodyStalled(): void {
    this.fail(requestTimedOut());
  }

  bodyTooLarge(): void {
    this.fail(tooLarge(this.forwarding.route));
  }

  clientGone(): void {
    if (!this.#isDone) this.#abandon();
  }

  /** Ends the exchange as successful, and leaves the response to the caller. */
  protected release(): void {
    this.#call?.succeeded();
    this.#finish();
  }

  /** Ends the exchange with a problem, or closes the connection if a part of the response has already been sent. */
  protected fail(problem: ProblemError): void {
    if (this.#isDone) return;
    this.#finish(problem);
    this.#call?.cancelled();
    this.#controller?.abort(ABORTED);
    if (this.#isAnswered || this.res.headersSent) {
      this.res.destroy();
      return;
    }
    const context = contextOf(this.req);
    // undici may call back in the context of another request.
    if (context === undefined) this.#next(problem);
    else runWithContext(context, () => this.#next(problem));
  }

  /** Starts a second time limit for the response, because undici restarts its own with each interim response. */
  #limitInterim(): void {
    // While the request body is being sent, however long that takes, undici's own time limit suffices.
    if (!this.req.complete || this.#isDone) return;
    this.#interimTimer ??= setTimeout(() => {
      this.#call?.failed();
      this.fail(failureProblem(this.req, this.forwarding.route, new errors.HeadersTimeoutError()));
    }, this.forwarding.route.timeoutSeconds * 1000);
  }

  /** Tries another target, because no part of the request has been sent. */
  #connectionFailed(error: Error): void {
    const call = this.#call;
    const kind = failureKind(error);
    if (call === undefined) return;
    if (kind === "refused") {
      call.cancelled();
      return this.fail(badRequest("the gateway cannot pass on this request", { cause: error }));
    }
    if (kind === "stopped") call.cancelled();
    else call.failed();
    (this.#tried ??= []).push(call.target);
    this.dispatch(error);
  }

  #abandon(): void {
    this.#finish();
    this.#call?.cancelled();
    this.#controller?.abort(ABORTED);
  }

  #finish(error?: Error): void {
    this.#isDone = true;
    clearTimeout(this.#interimTimer);
    if (this.#onDrain !== undefined) this.res.off("drain", this.#onDrain);
    this.onSettled?.(error);
  }
}

function responseEnded(_req: IncomingMessage, res: ServerResponse): void {
  (res as WithExchange)[EXCHANGE]?.clientGone();
}

function flushHead(res: ServerResponse): void {
  if (!res.headersSent && !res.destroyed) res.flushHeaders();
}
