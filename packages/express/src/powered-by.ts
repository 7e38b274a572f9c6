import type { ServerResponse } from "node:http";
import type { ExpressApp } from "./express-app.ts";
import { addResponseLayer } from "./response-layer.ts";
import { markAsPassingOn } from "./seeded-headers.ts";

type SetHeader = (this: ServerResponse, name: string, value: string) => ServerResponse;

/**
 * Leaves X-Powered-By out of the answers of a service, unless the application enables it.
 * Express sets the header in every application whose own setting is on, mounted ones included, and does so before it
 * gives the response the prototypes of that application.
 */
export function refusePoweredBy(app: ExpressApp): void {
  const { settings } = app;
  const { define, inherited } = addResponseLayer(app);
  const isRefused = (name: string, value: string): boolean =>
    name === "X-Powered-By" && value === "Express" && settings["x-powered-by"] !== true;

  // For the applications inside an application that a router calls: their prototypes do not inherit from the layer.
  const setOwnHeader: SetHeader = function setHeader(name, value) {
    if (isRefused(name, value)) return this;
    const { setHeader: original } = Object.getPrototypeOf(this) as { setHeader: SetHeader };
    return original.call(this, name, value);
  };

  const setHeader: SetHeader = function setHeader(name, value) {
    if (!isRefused(name, value)) return inherited().setHeader.call(this, name, value);
    // A method that a tool put on this response calls this one, and has to see the headers that follow.
    if (!Object.hasOwn(this, "setHeader")) this.setHeader = setOwnHeader as ServerResponse["setHeader"];
    return this;
  };
  markAsPassingOn(setHeader as ServerResponse["setHeader"]);
  define("setHeader", setHeader);
}
