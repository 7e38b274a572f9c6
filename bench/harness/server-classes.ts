import { IncomingMessage, type Server, ServerResponse } from "node:http";

/** The classes of a server's requests and responses. */
export interface ServerClasses {
  readonly IncomingMessage: typeof IncomingMessage;
  readonly ServerResponse: typeof ServerResponse;
}

/** Returns the classes passed to `createServer`, which Node stores under internal symbols. */
export function classesOf(server: Server): ServerClasses {
  return {
    IncomingMessage: find(server, "IncomingMessage") as typeof IncomingMessage,
    ServerResponse: find(server, "ServerResponse") as typeof ServerResponse,
  };
}

function find(server: Server, name: string): unknown {
  const symbol = Object.getOwnPropertySymbols(server).find((each) => each.description === name);
  const found: unknown = symbol && Reflect.get(server, symbol);
  if (typeof found !== "function") {
    throw new Error(
      `this version of Node keeps the class ${name} of a server elsewhere; the bench has to be adapted`,
    );
  }
  return found;
}
