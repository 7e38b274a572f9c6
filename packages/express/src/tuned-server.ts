import { IncomingMessage, ServerResponse, type RequestListener } from "node:http";
import { acceptHeadLines } from "./head-lines.ts";
import { endInOneWrite } from "./one-write.ts";

/** What of an Express application is needed here; both majors have it. */
export interface TunableApp extends RequestListener {
  request: object;
  response: object;
}

/** The classes for `http.createServer`. */
export interface TunedClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/**
 * Express gives every request and response the prototypes of its application when it arrives, which costs a fifth
 * of what a small route costs. Classes that have these prototypes from birth make that a no-op; what a handler sees
 * is the same. Call it before other applications are mounted into this one: those hold on to what it replaces.
 */
export function tunedClasses(app: TunableApp): TunedClasses {
  class ServiceRequest extends IncomingMessage {}
  class ServiceResponse extends ServerResponse<ServiceRequest> {}
  become(ServiceRequest.prototype, app.request);
  become(ServiceResponse.prototype, app.response);
  acceptHeadLines(ServiceResponse.prototype);
  endInOneWrite(ServiceResponse.prototype);
  app.request = ServiceRequest.prototype;
  app.response = ServiceResponse.prototype;
  return { IncomingMessage: ServiceRequest, ServerResponse: ServiceResponse as typeof ServerResponse };
}

// Takes the place of the original, own members included: Express exchanges the prototype behind it when the
// application is mounted into another one, and `req.app` must stay what it was.
function become(prototype: object, original: object): void {
  Object.setPrototypeOf(prototype, Object.getPrototypeOf(original) as object);
  Object.defineProperties(prototype, Object.getOwnPropertyDescriptors(original));
}
