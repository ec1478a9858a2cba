// node webhook.mjs: receives webhooks on port 4000 of this machine, and says of each whether it is genuine.
// WEBHOOK_SECRET is set, in the form `whsec_…`.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64');

/** By Standard Webhooks: over id, time and the bytes of the body as they came. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature = '' } = headers;
  const expected = `v1,${createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64')}`;
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  return (
    isRecent && signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  );
}

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const genuine = isGenuine(request.headers, body);
  response.writeHead(genuine ? 204 : 403).end();
  const { type, status, hash } = genuine ? JSON.parse(body) : {};
  console.log(genuine ? `genuine webhook: ${type} of ${hash} ${status}` : 'a forged webhook was refused');
}).listen(4000, '127.0.0.1');
