// Preloaded by the broken variant: removes the caller's trace from every request.
const http = require("node:http");

const emit = Reflect.get(http.Server.prototype, "emit");
http.Server.prototype.emit = function emitWithoutTrace(event, ...values) {
  if (event === "request") delete values[0].headers.traceparent;
  return emit.call(this, event, ...values);
};
