import type { ServerResponse } from "node:http";
import type { ExpressApp } from "./express-app.ts";
import { addResponseLayer, type ResponseLayer } from "./response-layer.ts";
import { noteRemoval } from "./security-headers.ts";
import { markAsPassingOn } from "./seeded-headers.ts";

/** Gives the responses of a service the methods behind its headers. */
export function prepareResponses(app: ExpressApp): void {
  const layer = addResponseLayer(app);
  refusePoweredBy(app, layer);
  noteRemovals(layer);
}

type SetHeader = (this: ServerResponse, name: string, value: string) => ServerResponse;

/**
 * Express sets X-Powered-By in every application whose own setting is on, mounted ones included, and does so before it
 * gives the response the prototypes of that application.
 */
function refusePoweredBy({ settings }: ExpressApp, { define, inherited }: ResponseLayer): void {
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

function noteRemovals({ define, inherited }: ResponseLayer): void {
  define("removeHeader", function removeHeader(this: ServerResponse, name: string) {
    inherited().removeHeader.call(this, name);
    noteRemoval(this, name);
  });
}
