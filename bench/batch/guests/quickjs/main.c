// QuickJS that runs one script over its standard input, which is the global `input`; what `print` is given is written.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"

static const char script[] =
    "const keys = new Map();\n"
    "let sum = 0, strings = [];\n"
    "function walk(value, depth) {\n"
    "  switch (typeof value) {\n"
    "    case 'number': sum += value * depth; break;\n"
    "    case 'string': strings.push(value.replace(/[aeiou]/g, c => c.toUpperCase())); break;\n"
    "    case 'object':\n"
    "      if (Array.isArray(value)) value.forEach(item => walk(item, depth + 1));\n"
    "      else if (value) for (const [key, item] of Object.entries(value)) {\n"
    "        keys.set(key, (keys.get(key) ?? 0) + 1);\n"
    "        walk(item, depth + 1);\n"
    "      }\n"
    "  }\n"
    "}\n"
    "walk(JSON.parse(input), 1);\n"
    "const most = [...keys].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, 5);\n"
    "print(JSON.stringify({ sum: sum.toFixed(3), most, strings: strings.sort().join(' ') }));\n";

static JSValue print(JSContext *context, JSValueConst self, int count, JSValueConst *values) {
  (void)self;
  for (int i = 0; i < count; i++) {
    const char *text = JS_ToCString(context, values[i]);
    if (!text) return JS_EXCEPTION;
    puts(text);
    JS_FreeCString(context, text);
  }
  return JS_UNDEFINED;
}

static char *read_all(size_t *len) {
  size_t room = 1 << 14;
  char *text = malloc(room);
  *len = 0;
  for (size_t read; text && (read = fread(text + *len, 1, room - *len - 1, stdin)) > 0;) {
    *len += read;
    if (room - *len < 2) text = realloc(text, room *= 2);
  }
  if (text) text[*len] = 0;
  return text;
}

int main(void) {
  size_t len;
  char *text = read_all(&len);
  JSRuntime *runtime = JS_NewRuntime();
  JSContext *context = runtime ? JS_NewContext(runtime) : NULL;
  if (!text || !context) return 2;
  JSValue global = JS_GetGlobalObject(context);
  JS_SetPropertyStr(context, global, "input", JS_NewStringLen(context, text, len));
  JS_SetPropertyStr(context, global, "print", JS_NewCFunction(context, print, "print", 1));
  JS_FreeValue(context, global);
  JSValue result = JS_Eval(context, script, sizeof script - 1, "script.js", JS_EVAL_TYPE_GLOBAL);
  if (JS_IsException(result)) {
    const char *error = JS_ToCString(context, JS_GetException(context));
    fprintf(stderr, "%s\n", error ? error : "an exception");
    return 1;
  }
  return 0;
}
