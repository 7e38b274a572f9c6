import type { ExpressApp, ExpressResponse } from "./express-app.ts";

/** Methods inserted between `app.response` and the prototype that it inherits from. */
export interface ResponseLayer {
  /** Adds a member to every response of the application and its mounted applications. */
  readonly define: (name: PropertyKey, value: unknown) => void;
  /** Returns the current methods below the layer. Call it before each use, because a tool may replace them. */
  readonly inherited: () => ExpressResponse;
}

/**
 * Inserts an object between `app.response` and its prototype. Methods that the application defines on `app.response`
 * keep their precedence, and mounted applications inherit the layer's methods.
 */
export function addResponseLayer(app: ExpressApp): ResponseLayer {
  const methods: object = {};
  function insert(): void {
    Object.setPrototypeOf(methods, Object.getPrototypeOf(app.response) as object);
    Object.setPrototypeOf(app.response, methods);
  }
  insert();
  // Express replaces the prototype of app.response when the application is mounted.
  app.on("mount", insert);
  return {
    define(name, value) {
      Object.defineProperty(methods, name, { configurable: true, writable: true, value });
    },
    inherited: () => Object.getPrototypeOf(methods) as ExpressResponse,
  };
}
