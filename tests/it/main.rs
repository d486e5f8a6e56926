mod proto_docs;
