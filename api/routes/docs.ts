import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import type { DocumentedRoute } from '#platform/http/route-doc.ts';
import { addStaticFile } from '#platform/http/static-file.ts';
import { docsPage } from '../openapi/docs-page.ts';
import { openApiDocument } from '../openapi/document.ts';

/** Swagger UI sets styles of elements, its icons are `data:` images, and "Try it out" asks this server. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'";

/** `/openapi.json` and `/docs`, for the routes of this server. Each is made once. */
export async function addDocsRoutes(
  app: FastifyInstance,
  { routes }: { readonly routes: readonly DocumentedRoute[] },
): Promise<void> {
  const require = createRequire(import.meta.url);
  const assets = {
    'reference.js': join(import.meta.dirname, '../openapi/reference.js'),
    'swagger-ui.js': require.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
    'swagger-ui.css': require.resolve('swagger-ui-dist/swagger-ui.css'),
  };
  for (const [name, file] of Object.entries(assets))
    addStaticFile(app, { urls: [`/docs/${name}`], name, bytes: await readFile(file) });
  const headers = { 'content-security-policy': contentSecurityPolicy };
  addStaticFile(app, { urls: ['/docs'], name: 'docs.html', bytes: Buffer.from(docsPage()), headers });

  // Other routes are added after this one.
  let document: string | undefined;
  app.get('/openapi.json', (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(routes));
    return reply.headers({ 'access-control-allow-origin': '*', 'content-type': 'application/json' }).send(document);
  });
}
