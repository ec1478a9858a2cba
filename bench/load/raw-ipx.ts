import { createServer } from 'node:http';
import { createIPX, createIPXNodeServer, ipxFSStorage } from 'ipx';
import sharp from 'sharp';

// The peer of an image that is made while a client waits: ipx, over a folder and without a cache, with as many images
// at once as there are cores. It checks no signature and keeps nothing. Its arguments are the port and the folder.

const [port = '', dir = ''] = process.argv.slice(2);
sharp.cache(false);
sharp.concurrency(1);
const answer = createIPXNodeServer(createIPX({ storage: ipxFSStorage({ dir }) }));
createServer((request, response) => {
  if (request.url === '/healthz') response.end('OK');
  else answer(request, response);
}).listen(Number(port), '127.0.0.1');
