import type { FastifyInstance } from 'fastify';
import { docsPage } from '../openapi/docs-page.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { DocumentedRoute } from '#platform/http/route-doc.ts';

const contentSecurityPolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** `/openapi.json` and `/docs`, for the routes of this server. */
export function addDocsRoutes(app: FastifyInstance, { routes }: { readonly routes: readonly DocumentedRoute[] }): void {
  app.get('/openapi.json', (_request, reply) =>
    reply.header('access-control-allow-origin', '*').send(openApiDocument(routes)),
  );
  app.get('/docs', (_request, reply) =>
    reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': contentSecurityPolicy })
      .send(docsPage(routes)),
  );
}
