// Preloaded by the broken variant: removes the caller's trace from every request.
const { Server } = require("node:http");

const { emit } = Server.prototype;
Server.prototype.emit = function emitWithoutTrace(event, ...values) {
  if (event === "request") delete values[0].headers.traceparent;
  return emit.call(this, event, ...values);
};
