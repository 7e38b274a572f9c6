import { contextOf } from "@svc/context";
import { LoginError } from "@svc/oidc-login";
import { isProblemError } from "@svc/problem";
import type { ErrorRequestHandler, Request } from "express";
import { type Message, messagePage } from "./pages/message-page.ts";
import { sendPage } from "./pages/send-page.ts";
import { home } from "./return-to.ts";
import { withoutRetry } from "./visitor.ts";

const pages =
  /^\/(?:sign-in|account|login|sign-out|sign-out-everywhere|sessions\/.*|reports|receipts|queue(?:\/retry)?|auth\/[^/]+\/(?:start|callback))$/;

/**
 * Sends browsers an error page instead of a problem document, and logs the error as the problem handler does. Leaves
 * programs and unexpected errors (500) to the problem handler.
 */
export const pageErrors: ErrorRequestHandler = (error: unknown, req, res, next) => {
  const status = statusOf(error);
  if (res.headersSent || status === undefined || status === 500 || !isForPeople(req)) {
    next(error);
    return;
  }
  if (status > 500) contextOf(req)?.log?.error({ err: error }, "a request failed");
  const headers = isProblemError(error) ? error.headers : undefined;
  const retryAfter = headers?.["Retry-After"];
  const more: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  sendPage(res, status, messagePage(messageOf(status, error, again(req))), more);
};

function isForPeople(req: Request): boolean {
  return pages.test(req.path) && req.accepts(["json", "html"]) === "html";
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("status" in error)) return undefined;
  const { status } = error;
  return typeof status === "number" && status >= 400 && status < 600 ? status : undefined;
}

/** Returns the page for another attempt: the requested page, or the page with the form. */
function again(req: Request): string {
  if (req.method !== "GET") return home;
  return req.path.startsWith("/auth/") ? "/sign-in" : withoutRetry(req);
}

function messageOf(status: number, error: unknown, href: string): Message {
  const { cause, code } = error as { readonly cause?: unknown; readonly code?: unknown };
  if (cause instanceof LoginError && cause.at === "access_denied") {
    return { title: "You did not sign in", text: "Nothing has changed.", href, link: "Sign in" };
  }
  const link = "Try again";
  if (status === 503) {
    const text =
      "A part of this service is not responding at the moment. If you are signed in, you stay signed in.";
    return { title: "Temporarily unavailable", text, href, link };
  }
  if (status === 401) {
    const text = "The sign-in took too long, was started in another browser, or was not accepted.";
    return { title: "Sign-in failed", text, href, link };
  }
  if (status === 403 && (code === "ERR_SVC_MISSING_ROLES" || code === "ERR_SVC_MISSING_SCOPES")) {
    return {
      title: "No access",
      text: "You are not allowed to see this page.",
      href: home,
      link: "Continue",
    };
  }
  if (status === 403) {
    const text = "The request did not come from a page of this site, so it had no effect.";
    return { title: "Request refused", text, href, link };
  }
  if (status === 404)
    return { title: "Not found", text: "There is nothing at this address.", href, link: "Continue" };
  if (status === 409) {
    const text = "Another tab of this browser is renewing your session.";
    return { title: "Please wait", text, href, link };
  }
  return { title: "Request failed", text: "The request could not be understood.", href, link };
}
