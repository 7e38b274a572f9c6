import { describes, type ResponseDescription, type Schema } from "@svc/openapi";
import type { RequestHandler } from "express";

const page: Schema = { schema: { type: "string" } };

/** A response with an HTML page. */
export const html: ResponseDescription = { contentType: "text/html", body: page };

/** Errors of pages: browsers get a page, and programs a problem document. */
export const pageErrorBodies: Readonly<Record<string, Schema>> = { "text/html": page };

/** Members of {@link pageDescription}. */
export interface PageDescription {
  readonly summary: string;
  readonly description: string;
  /** Responses by status. */
  readonly responses: Readonly<Record<number, ResponseDescription | string>>;
  /** The bodies that the route accepts, by content type. Default: none. */
  readonly requestBodies?: Readonly<Record<string, Schema>> | undefined;
}

/** Describes a route that serves a page to browsers. */
export function pageDescription(description: PageDescription): RequestHandler {
  return describes({ ...description, tags: ["pages"], errorBodies: pageErrorBodies });
}
