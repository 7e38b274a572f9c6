import { describes, type ResponseDescription } from "@svc/openapi";
import type { RequestHandler } from "express";

/** A page for people. */
export const html: ResponseDescription = { contentType: "text/html", body: { schema: { type: "string" } } };

/**
 * Describes a route for people. Its errors are pages for browsers, and problem documents for programs.
 *
 * @param responses by status
 */
export function pageDescription(
  summary: string,
  responses: Readonly<Record<number, ResponseDescription | string>>,
): RequestHandler {
  return describes({ summary, tags: ["pages"], responses });
}
