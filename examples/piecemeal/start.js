import { createApp } from "./app.js";

const server = createApp().listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  console.error(`http://127.0.0.1:${server.address().port}/health`);
});
