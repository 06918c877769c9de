#include "store/identity_fields.h"

#include "store/layout.h"

namespace encode {

StreamIdentity identity_from(const JsonFields& fields) {
  return {.name = fields.string("name"),
          .fingerprint = fields.object("fingerprint").dump(),
          .rows = fields.integer("rows", 0, kMaxInteger),
          .dim = fields.integer("dim", 1, kMaxInteger),
          .token_embeddings = fields.boolean_or("token_embeddings", false),
          .passages = fields.boolean_or("passages", false)};
}

}  // namespace encode
