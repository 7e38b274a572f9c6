import { markAsPassingOn } from "@svc/context";
import type { ServerResponse } from "node:http";
import type { ExpressApp } from "./express-app.ts";
import { addResponseLayer } from "./response-layer.ts";

type SetHeader = (this: ServerResponse, name: string, value: string) => ServerResponse;

/**
 * Omits X-Powered-By from a service's responses unless the application enables it. Every application sets the header if
 * its own setting is on, even a mounted application. It does so before it changes the prototype of the response.
 */
export function refusePoweredBy(app: ExpressApp): void {
  const { settings } = app;
  const { define, inherited } = addResponseLayer(app);
  const isRefused = (name: string, value: string): boolean =>
    name === "X-Powered-By" && value === "Express" && settings["x-powered-by"] !== true;

  // If a router calls an application, the response's new prototype does not inherit from the layer.
  const setOwnHeader: SetHeader = function setHeader(name, value) {
    if (isRefused(name, value)) return this;
    const { setHeader: original } = Object.getPrototypeOf(this) as { setHeader: SetHeader };
    return original.call(this, name, value);
  };

  const setHeader: SetHeader = function setHeader(name, value) {
    if (!isRefused(name, value)) return inherited().setHeader.call(this, name, value);
    // If a tool has set the method on this response, that method must still receive all further headers.
    if (!Object.hasOwn(this, "setHeader")) this.setHeader = setOwnHeader as ServerResponse["setHeader"];
    return this;
  };
  markAsPassingOn(setHeader as ServerResponse["setHeader"], inherited);
  define("setHeader", setHeader);
}
