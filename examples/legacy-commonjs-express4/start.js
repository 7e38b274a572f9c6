"use strict";
const { createServer } = require("node:http");
const { attachProblems } = require("@svc/problem");
const { createApp } = require("./app.js");

const server = createServer(createApp());
attachProblems(server); // @svc/problem
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/things/1`);
});
