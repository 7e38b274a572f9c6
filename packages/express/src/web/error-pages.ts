import { contextOf, type Logger, type Middleware } from "@svc/context";
import { type ErrorMiddleware, PROBLEM_TYPE } from "@svc/problem";
import { safeLogger, withDeadline } from "@svc/resilience";
import type { Request } from "express";
import type { ServerResponse } from "node:http";
import { catchProblem } from "./catch-problem.ts";
import { holdResponse } from "./hold-response.ts";

/** The members of a problem document (ERR-2), and those that the error adds (ERR-6). */
export interface ProblemDocument {
  readonly type: string;
  /** The phrase of the status, such as `Not Found`. */
  readonly title: string;
  readonly status: number;
  /** Text for the client; it may contain text from the request, so escape it in HTML. */
  readonly detail: string;
  /** The path of the request; escape it in HTML. */
  readonly instance: string;
  readonly request_id: string;
  readonly [member: string]: unknown;
}

/** Returns the HTML of the page for a problem. */
export type ErrorPage = (problem: ProblemDocument, req: Request) => string | Promise<string>;

/** Options of `errorPages()`. */
export interface ErrorPagesOptions {
  readonly errorPage: ErrorPage;
  /** Time limit of `errorPage`, in milliseconds. */
  readonly timeoutMs: number;
  /** Logs the errors of `errorPage` if the context of the request has no logger. */
  readonly logger: Logger;
}

/**
 * Returns middleware that sends a page in place of the problem document to clients that prefer HTML to JSON. The page keeps
 * the status and all headers of the problem. If `errorPage` fails, the problem document is sent, and the error is logged.
 *
 * Mount `forUnknownPaths` before `notFound()`, and `forErrors` before `problemHandler()`.
 */
export function errorPages({ errorPage, timeoutMs, logger }: ErrorPagesOptions): {
  readonly forUnknownPaths: Middleware;
  readonly forErrors: ErrorMiddleware;
} {
  async function pageOf(document: Uint8Array, req: Request): Promise<Buffer> {
    const problem = JSON.parse(Buffer.from(document).toString()) as ProblemDocument;
    const page: unknown = await withDeadline(timeoutMs, () => errorPage(problem, req));
    if (typeof page === "string") return Buffer.from(page);
    throw new TypeError(
      `errorPage() must return a string; it returned ${page === null ? "null" : typeof page}`,
    );
  }

  function prepare(req: Request, res: ServerResponse): void {
    if (res.headersSent) return;
    varyByAccept(res);
    if (!prefersHtml(req)) return;
    catchProblem(res, (document, isEnded) => {
      if (document === undefined) sendHead(res, isEnded);
      else void sendPage(req, res, document, isEnded);
    });
  }

  async function sendPage(
    req: Request,
    res: ServerResponse,
    document: Uint8Array,
    isEnded: boolean,
  ): Promise<void> {
    const held = holdResponse(res, isEnded);
    const page = await pageOf(document, req).catch((error: unknown) => logFailure(req, error));
    held.release();
    if (res.destroyed) return;
    if (page !== undefined) {
      res.setHeader("Content-Type", HTML);
      res.setHeader("Content-Length", page.length);
    }
    if (held.isEnded) res.end(page ?? document);
    else res.write(page ?? document);
  }

  function logFailure(req: Request, error: unknown): undefined {
    const context = contextOf(req);
    const id = context?.requestId ?? "";
    const fields = { err: error, ...(id === "" ? {} : { request_id: id }) };
    safeLogger(context?.log ?? logger)?.error(fields, "errorPage() failed; the problem document was sent");
  }

  return {
    forUnknownPaths(req, res, next) {
      prepare(req as Request, res);
      next();
    },
    forErrors(error, req, res, next) {
      prepare(req as Request, res);
      next(error);
    },
  };
}

const HTML = "text/html; charset=utf-8";

/** Sends the headers of the page without a length, which is unknown because the page is not rendered. */
function sendHead(res: ServerResponse, isEnded: boolean): void {
  res.setHeader("Content-Type", HTML);
  res.removeHeader("Content-Length");
  if (isEnded) res.end();
  else res.flushHeaders();
}

function prefersHtml(req: Request): boolean {
  return req.accepts([PROBLEM_TYPE, "application/json", "text/html"]) === "text/html";
}

function varyByAccept(res: ServerResponse): void {
  const before = [res.getHeader("Vary") ?? []].flat().join(", ");
  if (/(?:^|,)\s*(?:\*|accept)\s*(?:,|$)/i.test(before)) return;
  res.setHeader("Vary", before === "" ? "Accept" : `${before}, Accept`);
}
