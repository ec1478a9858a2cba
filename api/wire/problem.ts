import { z } from 'zod';
import { requestErrors, type RequestErrorCode } from '#domain/errors.ts';
import { answers } from '#platform/http/route-doc.ts';

const codes = Object.keys(requestErrors) as [RequestErrorCode, ...RequestErrorCode[]];

const faultSchema = z.object({
  pointer: z.string().describe('A JSON Pointer to the field at fault; empty for the whole body.'),
  code: z.string().describe('The kind of the fault, one word for programs.'),
  detail: z.string().describe('What is expected of the field.'),
});

/** A problem document (RFC 9457). */
export const problemSchema = z
  .object({
    type: z.string().describe('The address of what the documents say of the code.'),
    title: z.string().describe('What the code means.'),
    status: z.int().describe('The status of the answer.'),
    detail: z.string().describe('What is wrong, and what to do, for people.'),
    instance: z.string().describe('The path of the request.'),
    code: z.enum(codes).describe('The code of the problem, one word for programs.'),
    trace_id: z.string().describe('The id of the request in traces and logs.'),
    errors: z.array(faultSchema).optional().describe('Every field at fault; absent for problems without fields.'),
  })
  .register(answers, { id: 'Problem' });
