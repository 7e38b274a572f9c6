import type { ServerResponse } from "node:http";
import type { ExpressApp } from "./express-app.ts";
import { addResponseLayer } from "./response-layer.ts";
import { markAsPassingOn } from "./seeded-headers.ts";

type SetHeader = (this: ServerResponse, name: string, value: string) => ServerResponse;

/**
 * Leaves X-Powered-By out of the answers of a service, unless the application enables it. Every application with its own
 * setting on, including mounted ones, sets the header, before Express gives the response the prototypes of that application.
 */
export function refusePoweredBy(app: ExpressApp): void {
  const { settings } = app;
  const { define, inherited } = addResponseLayer(app);
  const isRefused = (name: string, value: string): boolean =>
    name === "X-Powered-By" && value === "Express" && settings["x-powered-by"] !== true;

  // An application that a router calls has prototypes that do not inherit from the layer.
  const setOwnHeader: SetHeader = function setHeader(name, value) {
    if (isRefused(name, value)) return this;
    const { setHeader: original } = Object.getPrototypeOf(this) as { setHeader: SetHeader };
    return original.call(this, name, value);
  };

  const setHeader: SetHeader = function setHeader(name, value) {
    if (!isRefused(name, value)) return inherited().setHeader.call(this, name, value);
    // A method that a tool has set on this response must still get all further headers.
    if (!Object.hasOwn(this, "setHeader")) this.setHeader = setOwnHeader as ServerResponse["setHeader"];
    return this;
  };
  markAsPassingOn(setHeader as ServerResponse["setHeader"]);
  define("setHeader", setHeader);
}
